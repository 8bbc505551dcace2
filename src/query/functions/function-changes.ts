// Sends changes of functions to the main thread, which stores them and replies with all functions.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { FunctionChange, FunctionDefinition, FunctionOutcome } from '../query.contract.ts';
import { KnownFunctions } from './user-functions.ts';

export class FunctionChanges {
  readonly known = new KnownFunctions();
  private readonly send: (callId: number, change: FunctionChange) => void;
  private readonly waiting = new Map<number, Deferred<FunctionOutcome>>();
  private lastCallId = 0;

  constructor(send: (callId: number, change: FunctionChange) => void) {
    this.send = send;
  }

  request(change: FunctionChange): Promise<FunctionOutcome> {
    const callId = ++this.lastCallId;
    const answer = deferred<FunctionOutcome>();
    this.waiting.set(callId, answer);
    this.send(callId, change);
    return answer.promise;
  }

  answer(callId: number, outcome: FunctionOutcome, functions: readonly FunctionDefinition[]): void {
    this.known.set(functions);
    this.waiting.get(callId)?.resolve(outcome);
    this.waiting.delete(callId);
  }
}

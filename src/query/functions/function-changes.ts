// Sends changes of functions to the main thread, which stores them and replies with all functions.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { FunctionChange, FunctionDefinition, FunctionOutcome } from '../query.contract.ts';
import { KnownFunctions } from './user-functions.ts';

export class FunctionChanges {
  readonly known = new KnownFunctions();
  private readonly send: (asked: number, change: FunctionChange) => void;
  private readonly waiting = new Map<number, Deferred<FunctionOutcome>>();
  private lastAsked = 0;

  constructor(send: (asked: number, change: FunctionChange) => void) {
    this.send = send;
  }

  ask(change: FunctionChange): Promise<FunctionOutcome> {
    const asked = ++this.lastAsked;
    const answer = deferred<FunctionOutcome>();
    this.waiting.set(asked, answer);
    this.send(asked, change);
    return answer.promise;
  }

  answer(asked: number, outcome: FunctionOutcome, functions: readonly FunctionDefinition[]): void {
    this.known.set(functions);
    this.waiting.get(asked)?.resolve(outcome);
    this.waiting.delete(asked);
  }
}

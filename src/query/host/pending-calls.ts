// Sends calls of one kind, such as changes of functions, to the main thread, and matches each reply to its call.
import { type Deferred, deferred } from '#base/deferred.ts';

export class PendingCalls<Call, Outcome> {
  private readonly send: (callId: number, call: Call) => void;
  private readonly waiting = new Map<number, Deferred<Outcome>>();
  private lastCallId = 0;

  constructor(send: (callId: number, call: Call) => void) {
    this.send = send;
  }

  request(call: Call): Promise<Outcome> {
    const callId = ++this.lastCallId;
    const answer = deferred<Outcome>();
    this.waiting.set(callId, answer);
    this.send(callId, call);
    return answer.promise;
  }

  answer(callId: number, outcome: Outcome): void {
    this.waiting.get(callId)?.resolve(outcome);
    this.waiting.delete(callId);
  }
}

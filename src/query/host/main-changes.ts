// Sends changes to the main thread, which stores them and replies with everything that is stored.
import { type Deferred, deferred } from '#base/deferred.ts';

export class MainChanges<Change, Outcome> {
  private readonly send: (callId: number, change: Change) => void;
  private readonly waiting = new Map<number, Deferred<Outcome>>();
  private lastCallId = 0;

  constructor(send: (callId: number, change: Change) => void) {
    this.send = send;
  }

  request(change: Change): Promise<Outcome> {
    const callId = ++this.lastCallId;
    const answer = deferred<Outcome>();
    this.waiting.set(callId, answer);
    this.send(callId, change);
    return answer.promise;
  }

  answer(callId: number, outcome: Outcome): void {
    this.waiting.get(callId)?.resolve(outcome);
    this.waiting.delete(callId);
  }
}

// Logins of external users that wait for their verification by the main thread.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { ExternalLogin } from '../admin.ts';

/** Further logins are refused, so that a directory server that does not respond cannot hold an unlimited number. */
const waitingMax = 256;

export class ExternalLogins {
  private readonly send: ((login: ExternalLogin) => void) | null;
  private readonly waiting = new Map<number, Deferred<boolean>>();
  private lastId = 0;

  constructor(send: ((login: ExternalLogin) => void) | null) {
    this.send = send;
  }

  ask(name: string, password: string): Promise<boolean> {
    if (this.send === null || this.waiting.size >= waitingMax) return Promise.resolve(false);
    const id = ++this.lastId;
    const answer = deferred<boolean>();
    this.waiting.set(id, answer);
    this.send({ id, name, password });
    return answer.promise;
  }

  answer(id: number, isRight: boolean): void {
    this.waiting.get(id)?.resolve(isRight);
    this.waiting.delete(id);
  }
}

// Calls of a query thread to the main thread, and their answers.
import type { MessagePort } from 'node:worker_threads';
import { type Deferred, deferred } from '#base/deferred.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { LinkCall, LinkMessage } from './link-messages.ts';

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

export class LinkCalls {
  private readonly port: MessagePort;
  private readonly waiting = new Map<number, Deferred<unknown>>();
  private lastId = 0;

  constructor(port: MessagePort) {
    this.port = port;
  }

  call<T>(call: WithoutId<LinkCall>): Promise<T> {
    const id = ++this.lastId;
    const answer = deferred<unknown>();
    this.waiting.set(id, answer);
    this.port.postMessage({ ...call, id });
    return answer.promise as Promise<T>;
  }

  answer(message: Exclude<LinkMessage, { kind: 'state' }>): void {
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.kind === 'result') waiting?.resolve(message.result);
    else waiting?.reject(message.isUnwritable ? sqlError(5000, message.reason) : new Error(message.reason));
  }

  close(): void {
    for (const waiting of this.waiting.values()) waiting.reject(new Error('the index service stopped'));
    this.waiting.clear();
  }
}

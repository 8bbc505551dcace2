// Authenticates in the query thread: asks the main thread once per name and password, and caches the reply until the account
// changes. Passwords are cached as digests under a key of this process.
import { hash } from 'node:crypto';
import { callerOf } from '#auth/authenticator.ts';
import type { Caller } from '#auth/authority.ts';
import { type Deferred, deferred } from '#base/deferred.ts';
import type { Authority } from '../access/session.ts';
import type { Credential } from '../request/query-request.ts';
import type { KnownCaller, QueryMessage, QueryQuestion } from './query-messages.ts';

const callersMax = 1_000;

interface Kept {
  readonly caller: Caller;
  readonly watch: number;
}

export class KnownCallers implements Authority {
  private readonly say: (message: QueryMessage) => void;
  private readonly key: string;
  private readonly kept = new Map<string, Kept>();
  private readonly keyOfWatch = new Map<number, string>();
  private readonly asked = new Map<number, { key: string; answer: Deferred<Caller | null> }>();
  private readonly asking = new Map<string, Promise<Caller | null>>();
  private lastAsked = 0;

  constructor(key: Uint8Array, say: (message: QueryMessage) => void) {
    this.key = Buffer.from(key).toString('base64');
    this.say = say;
  }

  certified(name: string): Promise<Caller | null> {
    return this.find(`certificate\0${name}`, { certificateName: name });
  }

  authenticate({ user: name, password }: Credential, peer: string): Promise<Caller | null> {
    const digest = hash('sha256', `${this.key}${JSON.stringify([name, password])}`, 'base64');
    const remoteAddress = peer.slice(0, peer.lastIndexOf(':'));
    return this.find(digest, { name, password, remoteAddress });
  }

  /** Takes the main thread's reply. */
  answer(asked: number, known: KnownCaller | null, watch: number): void {
    const question = this.asked.get(asked);
    this.asked.delete(asked);
    if (question === undefined) return;
    const caller = known && callerOf(known.identity, known.roles, known.limits);
    if (caller !== null) this.keep(question.key, { caller, watch });
    question.answer.resolve(caller);
  }

  forget(watch: number): void {
    const key = this.keyOfWatch.get(watch);
    this.keyOfWatch.delete(watch);
    if (key !== undefined) this.kept.delete(key);
  }

  private find(key: string, question: QueryQuestion): Promise<Caller | null> {
    const kept = this.kept.get(key);
    if (kept !== undefined) return Promise.resolve(kept.caller);
    const asking = this.asking.get(key) ?? this.ask(key, question);
    this.asking.set(key, asking);
    return asking.finally(() => this.asking.delete(key));
  }

  private ask(key: string, question: QueryQuestion): Promise<Caller | null> {
    const asked = ++this.lastAsked;
    const answer = deferred<Caller | null>();
    this.asked.set(asked, { key, answer });
    this.say({ kind: 'ask', asked, question });
    return answer.promise;
  }

  private keep(key: string, kept: Kept): void {
    this.kept.set(key, kept);
    this.keyOfWatch.set(kept.watch, key);
    for (const [oldest, { watch }] of this.kept) {
      if (this.kept.size <= callersMax) return;
      this.kept.delete(oldest);
      this.keyOfWatch.delete(watch);
      this.say({ kind: 'unwatch', watch });
    }
  }
}

// Authenticates in the query thread: sends each name and password to the main thread once, and caches the reply until the account
// changes. Passwords are cached as digests under a key of this process.
import { hash } from 'node:crypto';
import { callerOf } from '#auth/authenticator.ts';
import type { Caller } from '#auth/authority.ts';
import { type Deferred, deferred } from '#base/deferred.ts';
import { withoutPort } from '#base/host-and-port.ts';
import { type SqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import type { Authority } from '../access/session.ts';
import type { Credential } from '../request/query-request.ts';
import type { CallerNotChecked, KnownCaller, QueryMessage, QueryQuestion } from './query-messages.ts';

const callersMax = 1_000;

interface CachedCaller {
  readonly caller: Caller;
  /** Identifies the caller in messages about changes of its account. */
  readonly watch: number;
}

export class KnownCallers implements Authority {
  private readonly sendMessage: (message: QueryMessage) => void;
  private readonly key: string;
  private readonly cached = new Map<string, CachedCaller>();
  private readonly keyOfWatch = new Map<number, string>();
  private readonly unanswered = new Map<number, { key: string; answer: Deferred<Caller | null> }>();
  private readonly pending = new Map<string, Promise<Caller | null>>();
  private lastCallId = 0;
  /** Changes whenever a caller leaves the cache: the main thread reports account changes only of cached callers. */
  revision = 0;

  constructor(key: Uint8Array, sendMessage: (message: QueryMessage) => void) {
    this.key = Buffer.from(key).toString('base64');
    this.sendMessage = sendMessage;
  }

  byCertificate(name: string): Promise<Caller | null> {
    return this.find(`certificate\0${name}`, { certificateName: name });
  }

  authenticate({ user: name, password }: Credential, addressAndPort: string): Promise<Caller | null> {
    const digest = hash('sha256', `${this.key}${JSON.stringify([name, password])}`, 'base64');
    const remoteAddress = withoutPort(addressAndPort);
    return this.find(digest, { name, password, remoteAddress });
  }

  /** Takes the main thread's reply. */
  answer(callId: number, knownCaller: KnownCaller | null, watch: number): void {
    const question = this.unanswered.get(callId);
    this.unanswered.delete(callId);
    if (question === undefined) return;
    const caller = knownCaller && callerOf(knownCaller.identity, knownCaller.roles, knownCaller.limits);
    if (caller !== null) this.cache(question.key, { caller, watch });
    question.answer.resolve(caller);
  }

  /** Takes the main thread's reply that it could not check the caller. */
  fail(reply: CallerNotChecked): void {
    this.unanswered.get(reply.callId)?.answer.reject(errorOf(reply));
    this.unanswered.delete(reply.callId);
  }

  discard(watch: number): void {
    const key = this.keyOfWatch.get(watch);
    this.keyOfWatch.delete(watch);
    this.revision++;
    if (key !== undefined) this.cached.delete(key);
  }

  private find(key: string, question: QueryQuestion): Promise<Caller | null> {
    const cached = this.cached.get(key);
    if (cached !== undefined) return Promise.resolve(cached.caller);
    const pending = this.pending.get(key) ?? this.request(key, question);
    this.pending.set(key, pending);
    return pending.finally(() => this.pending.delete(key));
  }

  private request(key: string, question: QueryQuestion): Promise<Caller | null> {
    const callId = ++this.lastCallId;
    const answer = deferred<Caller | null>();
    this.unanswered.set(callId, { key, answer });
    this.sendMessage({ kind: 'authenticate', callId, question });
    return answer.promise;
  }

  private cache(key: string, caller: CachedCaller): void {
    this.cached.set(key, caller);
    this.keyOfWatch.set(caller.watch, key);
    for (const [oldest, { watch }] of this.cached) {
      if (this.cached.size <= callersMax) return;
      this.cached.delete(oldest);
      this.keyOfWatch.delete(watch);
      this.revision++;
      this.sendMessage({ kind: 'unwatch', watch });
    }
  }
}

/** A client of a cluster that the node has left repeats the statement, at another node once it knows the configuration without this one. */
function errorOf({ cause, reason }: CallerNotChecked): SqlError {
  if (cause === 'busy') return sqlErrorWith(1182, { isRetryable: true });
  return sqlErrorWith(5000, cause === 'no accounts' ? { isRetryable: true } : {}, reason);
}

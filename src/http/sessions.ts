// Sessions of the web console. A session keeps the Authorization header that opened it, so that the console's requests pass every
// check as if they had sent it: a changed password or role applies at once. The header is encrypted by a key that only the cookie
// has, so that the memory of the node reveals no password.
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Identity } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';

interface Session {
  /** The domain and the name of the user. */
  readonly owner: string;
  readonly sealed: Buffer;
  readonly tag: Buffer;
  lastUsedMs: number;
}

/** The cookie as a request sends it, and the port that it belongs to: browsers send cookies to every port of a host. */
export interface SessionRequest {
  readonly headers: IncomingHttpHeaders | Readonly<Record<string, string | string[] | undefined>>;
  readonly port: number;
}

const idleTimeoutMs = 30 * 60_000;
const sessionsMax = 1_000;
/** So that no user can end the sessions of others by opening many. */
const sessionsOfUserMax = 50;
const tokenBytes = 32;
/** Constant, because each key encrypts only one message. */
const nonce = Buffer.alloc(12);

export class Sessions {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #random: Pick<Random, 'bytes'>;
  /** By a digest of the token; the one unused for longest comes first. */
  readonly #sessions = new Map<string, Session>();

  constructor({ clock, random }: { clock: Pick<Clock, 'monotonicMs'>; random: Pick<Random, 'bytes'> }) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Returns the token of a new session, which ends the user's oldest one if the user has too many. */
  open({ name, domain }: Identity, authorization: string): string {
    const owner = `${domain}:${name}`;
    this.#endOldOf(owner);
    this.#endOld();
    const token = this.#random.bytes(tokenBytes);
    const cipher = createCipheriv('aes-256-gcm', derived(token, 'key'), nonce);
    const sealed = Buffer.concat([cipher.update(authorization, 'utf8'), cipher.final()]);
    this.#sessions.set(idOf(token), {
      owner,
      sealed,
      tag: cipher.getAuthTag(),
      lastUsedMs: this.#clock.monotonicMs(),
    });
    return token.toString('base64url');
  }

  /** The header that opened the session of the request; null without a session. */
  authorizationOf(request: SessionRequest): string | null {
    const token = tokenOf(request);
    if (token === null) return null;
    this.#endOld();
    const id = idOf(token);
    const session = this.#sessions.get(id);
    if (!session) return null;
    session.lastUsedMs = this.#clock.monotonicMs();
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    const decipher = createDecipheriv('aes-256-gcm', derived(token, 'key'), nonce);
    decipher.setAuthTag(session.tag);
    return decipher.update(session.sealed, undefined, 'utf8') + decipher.final('utf8');
  }

  end(request: SessionRequest): void {
    const token = tokenOf(request);
    if (token !== null) this.#sessions.delete(idOf(token));
  }

  #endOldOf(owner: string): void {
    const own = [...this.#sessions].filter(([, session]) => session.owner === owner);
    for (const [id] of own.slice(0, Math.max(0, own.length + 1 - sessionsOfUserMax)))
      this.#sessions.delete(id);
  }

  #endOld(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [id, { lastUsedMs }] of this.#sessions) {
      if (nowMs - lastUsedMs < idleTimeoutMs && this.#sessions.size < sessionsMax) return;
      this.#sessions.delete(id);
    }
  }
}

/** The value of the `Set-Cookie` header; without a token it removes the cookie. */
export function sessionCookie(
  token: string | null,
  { port, isTls }: { port: number; isTls: boolean },
): string {
  const lifetime = token === null ? ['Max-Age=0'] : [];
  const flags = ['Path=/', 'HttpOnly', 'SameSite=Strict', ...(isTls ? ['Secure'] : []), ...lifetime];
  return [`${cookieName(port)}=${token ?? ''}`, ...flags].join('; ');
}

const cookieName = (port: number): string => `divan-session-${port}`;

/**
 * A cookie is accepted only with a header that the console adds and that pages of other sites cannot add without permission: they
 * could otherwise use the session of a visitor.
 */
function tokenOf({ headers, port }: SessionRequest): Buffer | null {
  const { cookie, 'ns-server-ui': marker } = headers;
  if (marker !== 'yes' || typeof cookie !== 'string') return null;
  const name = `${cookieName(port)}=`;
  const sent = cookie
    .split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(name));
  const token = Buffer.from(sent?.slice(name.length) ?? '', 'base64url');
  return token.length === tokenBytes ? token : null;
}

const derived = (token: Buffer, purpose: 'id' | 'key'): Buffer =>
  createHash('sha256').update(purpose).update(token).digest();

const idOf = (token: Buffer): string => derived(token, 'id').toString('base64');

// Who sends a request: the caller of its header or certificate, and those of its `creds`. All of them together hold its privileges.
import type { Caller } from '#auth/authority.ts';
import type { Credentials } from '#http/credentials.ts';
import { sqlError } from '../../sqlpp/errors/sql-error.ts';
import type { Credential } from '../request/query-request.ts';

export interface RequestOrigin {
  readonly credentials: Credentials;
  readonly remoteAddress: string;
  readonly userAgent: string;
}

/** Knows users and their passwords; it may have to ask another thread. */
export interface Authority {
  certified(name: string): Promise<Caller | null>;
  /** null: wrong, after a delay that grows with each failure. */
  authenticate(credential: Credential, remoteAddress: string): Promise<Caller | null>;
}

export interface Session {
  readonly callers: readonly Caller[];
  /** `name`, or `admin:name`. */
  readonly users: readonly string[];
  /** What the node's REST API is asked with on behalf of the request; null: only a certificate is there. */
  readonly credential: Credential | null;
}

/** @throws SqlError 10000 when some credentials are wrong, or there are none */
export async function openSession(
  authority: Authority,
  origin: RequestOrigin,
  creds: readonly Credential[],
): Promise<Session> {
  const { remoteAddress } = origin;
  const sent = await senderOf(authority, origin.credentials);
  if (sent === 'unusable') throw sqlError(10000);
  const callers: (Caller | null)[] = sent !== null && 'caller' in sent ? [sent.caller] : [];
  const all = sent !== null && 'user' in sent ? [sent, ...creds] : creds;
  for (const credential of all) callers.push(await authority.authenticate(credential, remoteAddress));
  if (callers.length === 0 || callers.includes(null)) throw sqlError(10000);
  const known = callers as Caller[];
  const users = known.map(({ identity: { domain, name } }) =>
    domain === 'local' ? name : `${domain}:${name}`,
  );
  return { callers: known, users, credential: all[0] ?? null };
}

type Sender = Credential | { readonly caller: Caller } | 'unusable' | null;

async function senderOf(authority: Authority, credentials: Credentials): Promise<Sender> {
  switch (credentials.kind) {
    case 'none':
      return null;
    case 'unusable':
      return 'unusable';
    case 'basic':
      return { user: credentials.name, password: credentials.password };
    case 'certificate': {
      const { user, otherwise } = credentials;
      const caller = user === null ? null : await authority.certified(user);
      if (caller !== null) return { caller };
      return otherwise === null ? 'unusable' : senderOf(authority, otherwise);
    }
  }
}

// Who sends a request: the caller of its header or certificate, and those of its `creds`. All of them together hold its privileges.
import type { Caller } from '#auth/authority.ts';
import type { Credentials } from '#http/credentials.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Credential } from '../request/query-request.ts';

export interface RequestOrigin {
  readonly credentials: Credentials;
  readonly remoteAddress: string;
  readonly userAgent: string;
  /** Absent: not looked up yet. */
  readonly sender?: Sender;
}

/** Who the header or the certificate names. */
export interface Sender {
  /** Empty: nobody; null: the credentials are wrong. */
  readonly callers: readonly (Caller | null)[];
  readonly credential: Credential | null;
}

export const isAuthenticated = ({ callers }: Pick<Sender, 'callers'>): boolean =>
  callers.length > 0 && !callers.includes(null);

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
  const { callers: sent, credential } = origin.sender ?? (await senderOf(authority, origin));
  const callers = [...sent];
  for (const one of creds) callers.push(await authority.authenticate(one, origin.remoteAddress));
  if (!isAuthenticated({ callers })) throw sqlError(10000);
  const known = callers as Caller[];
  const users = known.map(({ identity: { domain, name } }) =>
    domain === 'local' ? name : `${domain}:${name}`,
  );
  return { callers: known, users, credential: credential ?? creds[0] ?? null };
}

const refused: Sender = { callers: [null], credential: null };

export async function senderOf(
  authority: Authority,
  { credentials, remoteAddress }: Pick<RequestOrigin, 'credentials' | 'remoteAddress'>,
): Promise<Sender> {
  switch (credentials.kind) {
    case 'none':
      return { callers: [], credential: null };
    case 'unusable':
      return refused;
    case 'basic': {
      const credential = { user: credentials.name, password: credentials.password };
      return { callers: [await authority.authenticate(credential, remoteAddress)], credential };
    }
    case 'certificate': {
      const { user, otherwise } = credentials;
      const caller = user === null ? null : await authority.certified(user);
      if (caller !== null) return { callers: [caller], credential: null };
      return otherwise === null ? refused : senderOf(authority, { credentials: otherwise, remoteAddress });
    }
  }
}

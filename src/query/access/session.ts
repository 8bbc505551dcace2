// Authenticates a request: the caller of its header or certificate, and those of its `creds`. A request has the privileges of all these callers.
import type { Caller } from '#auth/authority.ts';
import type { Credentials } from '#http/credentials.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Credential } from '../request/query-request.ts';

export interface RequestOrigin {
  readonly credentials: Credentials;
  readonly remoteAddress: string;
  readonly userAgent: string;
  /** Whose credentials these are; absent until they are checked. */
  readonly sender?: Sender;
}

/** The user of the header or the certificate. */
export interface Sender {
  /** Empty without credentials; contains null for wrong ones. */
  readonly callers: readonly (Caller | null)[];
  readonly credential: Credential | null;
}

export const isAuthenticated = ({ callers }: Pick<Sender, 'callers'>): boolean =>
  callers.length > 0 && !callers.includes(null);

/** Authenticates users; a query thread sends unknown credentials to the main thread. */
export interface Authority {
  /** Changes when a caller that was returned may no longer be valid. */
  readonly revision: number;
  byCertificate(name: string): Promise<Caller | null>;
  /** Resolves with null for wrong credentials, after a delay that grows with each failure. */
  authenticate(credential: Credential, remoteAddress: string): Promise<Caller | null>;
}

export interface Session {
  readonly callers: readonly Caller[];
  /** `name` of a local user, `domain:name` of others. */
  readonly users: readonly string[];
  /** The credentials for calls of the node's REST API on behalf of the request; null if the request has only a certificate. */
  readonly credential: Credential | null;
}

/** @throws SqlError 10000 when some credentials are wrong, or there are none */
export function openSession(
  authority: Authority,
  origin: RequestOrigin,
  creds: readonly Credential[],
): Session | Promise<Session> {
  const { sender } = origin;
  if (sender !== undefined && creds.length === 0) return sessionOf(sender.callers, sender.credential);
  return openWithCreds(authority, origin, creds);
}

async function openWithCreds(
  authority: Authority,
  origin: RequestOrigin,
  creds: readonly Credential[],
): Promise<Session> {
  const { callers: sent, credential } = origin.sender ?? (await senderOf(authority, origin));
  const callers = [...sent];
  for (const cred of creds) callers.push(await authority.authenticate(cred, origin.remoteAddress));
  return sessionOf(callers, credential ?? creds[0] ?? null);
}

function sessionOf(callers: readonly (Caller | null)[], credential: Credential | null): Session {
  if (!isAuthenticated({ callers })) throw sqlError(10000);
  const authenticated = callers as Caller[];
  const users = authenticated.map(({ identity: { domain, name } }) =>
    domain === 'local' ? name : `${domain}:${name}`,
  );
  return { callers: authenticated, users, credential };
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
      const caller = user === null ? null : await authority.byCertificate(user);
      if (caller !== null) return { callers: [caller], credential: null };
      return otherwise === null ? refused : senderOf(authority, { credentials: otherwise, remoteAddress });
    }
  }
}

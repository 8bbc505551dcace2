// Authenticates a request from its headers. A refusal names the part of the credentials that failed: that helps to debug a client
// and gives an attacker no information, since access keys are not secret.
import type { Clock } from '#ports/clock.ts';
import { ApiError, forbidden } from '../answers/api-error.ts';
import { StoreVersion, type StoreVersions } from '../store/state.ts';
import { VersionedCache } from '../store/versioned-cache.ts';
import { Caller, type Role } from './caller.ts';
import type { RateLimit } from './rate-limit.ts';
import { isSignature, timestampProblem } from './signature.ts';
import type { TokenUses } from './token-uses.ts';
import { hashOf, type StoredToken, type TokenStore } from './tokens.store.ts';

/** The parts of a request against which credentials are checked. */
export interface AuthenticatedRequest {
  readonly authorization: string | undefined;
  readonly timestamp: string | undefined;
  readonly method: string;
  readonly target: string;
  readonly host: string | undefined;
}

/** The caller, and the store version in which it was looked up. */
export interface AuthenticatedCaller {
  readonly caller: Caller;
  readonly version: StoreVersion;
}

export interface AuthenticatorOptions {
  versions: StoreVersions;
  tokens: TokenStore;
  uses: TokenUses;
  limit: RateLimit;
  clock: Clock;
}

/** A token as stored, and its caller. */
interface Identity extends StoredToken {
  readonly caller: Caller;
}

const identitiesMax = 10_000;
const identityBytes = 2_000;

export class TokenAuthenticator {
  private readonly options: AuthenticatorOptions;
  private readonly identities = new VersionedCache<Identity>({
    entriesMax: identitiesMax,
    bytesMax: identitiesMax * identityBytes,
    bytesOf: () => identityBytes,
  });

  constructor(options: AuthenticatorOptions) {
    this.options = options;
  }

  /**
   * Only the identity of a token is cached: expiry and rate limit are checked for every request. Awaits nothing if nothing must be
   * looked up.
   */
  async authenticate(presented: AuthenticatedRequest): Promise<AuthenticatedCaller> {
    const { versions, uses, limit } = this.options;
    const credentials = credentialsOf(presented);
    const current = versions.current();
    const version = current instanceof StoreVersion ? current : await current;
    const identity =
      this.identities.find(version, credentials.key) ?? (await this.lookUp(version, credentials));
    this.refuseInvalid(identity, credentials, presented);
    const { row, projectExists, caller } = identity;
    uses.note(row);
    if (!projectExists) throw projectDeleted(row);
    limit.admit(row.id);
    return { caller, version };
  }

  /**
   * Throws if the token was revoked or its project deleted since: the client decides how long its body takes. The rest was checked at the
   * beginning.
   */
  async authenticateAgain(presented: AuthenticatedRequest, { version }: AuthenticatedCaller): Promise<void> {
    const current = await this.options.versions.current();
    if (current === version) return;
    const { row, projectExists } = await this.lookUp(current, credentialsOf(presented));
    if (!projectExists) throw projectDeleted(row);
  }

  private lookUp(version: StoreVersion, credentials: Credentials): Promise<Identity> {
    return this.identities.getOrCompute(version, credentials.key, async () => {
      const { tokens } = this.options;
      const { tokenOrAccessKey, signature } = credentials;
      const token = await (signature === undefined
        ? tokens.byToken(tokenOrAccessKey)
        : tokens.byAccessKey(tokenOrAccessKey));
      if (token === null) throw unknownCredentials(credentials);
      const { id, role, project_id, expires_at } = token.row;
      const identity = { tokenId: id, role: role as Role, projectId: project_id, expiresAt: expires_at };
      return { ...token, caller: new Caller(identity) };
    });
  }

  private refuseInvalid({ row }: Identity, credentials: Credentials, presented: AuthenticatedRequest): void {
    const { tokens, clock } = this.options;
    const nowMs = clock.wallMs();
    if (row.expires_at !== null && row.expires_at <= nowMs) throw unknownCredentials(credentials);
    const { signature } = credentials;
    if (signature === undefined) return;
    const problem = timestampProblem(presented.timestamp, nowMs);
    if (problem !== null) throw unauthorized(problem);
    const signed = { ...presented, timestamp: presented.timestamp as string };
    if (!isSignature(signature, tokens.secretOf(row), signed))
      throw unauthorized(
        'the signature is wrong: it must be base64 of HMAC-SHA256 under the secret key over METHOD, path with query, and timestamp, joined by line feeds',
      );
  }
}

/** Credentials as sent: a token, or an access key with a signature. */
interface Credentials {
  /** The cache key of the identity: a digest of the token, so that tokens are not stored, or the access key, which is not secret. */
  readonly key: string;
  readonly tokenOrAccessKey: string;
  readonly signature: string | undefined;
}

function credentialsOf({ authorization }: AuthenticatedRequest): Credentials {
  if (authorization === undefined) throw unauthorized(`an Authorization header is needed: ${forms}`);
  const credentials = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (credentials === undefined) throw unauthorized(`the Authorization header must be ${forms}`);
  const [tokenOrAccessKey, signature, more] = credentials.split(':') as [string, string?, string?];
  if (more !== undefined) throw unauthorized(`the Authorization header must be ${forms}`);
  const key = signature === undefined ? hashOf(tokenOrAccessKey) : `access key ${tokenOrAccessKey}`;
  return { key, tokenOrAccessKey, signature };
}

const projectDeleted = ({ project_id }: StoredToken['row']): ApiError =>
  forbidden(`the project of this token, ${project_id}, is deleted`);

const unknownCredentials = ({ signature }: Credentials): ApiError =>
  unauthorized(`this ${signature === undefined ? 'token' : 'access key'} is unknown, revoked or has expired`);

const forms = 'Bearer <ACCESS_TOKEN>, or Bearer <ACCESS_KEY>:<SIGNATURE> with Couchbase-Timestamp';

const unauthorized = (message: string): ApiError =>
  new ApiError('Unauthorized', message, { 'www-authenticate': 'Bearer' });

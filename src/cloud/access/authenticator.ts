// From the headers of a request to a caller. A refusal says which part of the credentials failed: whoever has an access key
// learns nothing from it, and whoever debugs a client everything.
import type { Clock } from '#ports/clock.ts';
import { ApiError, forbidden } from '../answers/api-error.ts';
import { SnapshotCache } from '../store/snapshot-cache.ts';
import { StoreSnapshot, type StoreSnapshots } from '../store/state.ts';
import { Caller, type Role } from './caller.ts';
import type { RateLimit } from './rate-limit.ts';
import { isSignature, timestampProblem } from './signature.ts';
import type { TokenUses } from './token-uses.ts';
import { hashOf, type KnownToken, type TokenStore } from './tokens.store.ts';

/** What of a request credentials are checked against. */
export interface Presented {
  readonly authorization: string | undefined;
  readonly timestamp: string | undefined;
  readonly method: string;
  readonly target: string;
  readonly host: string | undefined;
}

/** Who asks, and the time of the store that this is of. */
export interface Authenticated {
  readonly caller: Caller;
  readonly snapshot: StoreSnapshot;
}

export interface AuthenticatorOptions {
  snapshots: StoreSnapshots;
  tokens: TokenStore;
  uses: TokenUses;
  limit: RateLimit;
  clock: Clock;
}

interface Identity extends KnownToken {
  readonly caller: Caller;
}

const identitiesMax = 10_000;
const identityBytes = 2_000;

export class TokenAuthenticator {
  private readonly options: AuthenticatorOptions;
  private readonly identities = new SnapshotCache<Identity>({
    entriesMax: identitiesMax,
    bytesMax: identitiesMax * identityBytes,
    bytesOf: () => identityBytes,
  });

  constructor(options: AuthenticatorOptions) {
    this.options = options;
  }

  /**
   * Of a token only who has it is remembered: whether it is valid now, and may be used again already, is asked each time. Waits
   * only for what has to be looked up.
   */
  async authenticate(presented: Presented): Promise<Authenticated> {
    const { snapshots, uses, limit } = this.options;
    const credentials = credentialsOf(presented);
    const present = snapshots.present();
    const snapshot = present instanceof StoreSnapshot ? present : await present;
    const identity =
      this.identities.find(snapshot, credentials.key) ?? (await this.lookUp(snapshot, credentials));
    this.refuseInvalid(identity, credentials, presented);
    const { row, hasItsProject, caller } = identity;
    uses.note(row);
    if (!hasItsProject) throw forbidden(`the project of this token, ${row.project_id}, is deleted`);
    limit.take(row.id);
    return { caller, snapshot };
  }

  private lookUp(snapshot: StoreSnapshot, credentials: Credentials): Promise<Identity> {
    return this.identities.of(snapshot, credentials.key, async () => {
      const { tokens } = this.options;
      const { name, signature } = credentials;
      const known = await (signature === undefined ? tokens.byToken(name) : tokens.byAccessKey(name));
      if (known === null) throw unknown(credentials);
      const { id, role, project_id } = known.row;
      return { ...known, caller: new Caller({ tokenId: id, role: role as Role, projectId: project_id }) };
    });
  }

  private refuseInvalid({ row }: Identity, credentials: Credentials, presented: Presented): void {
    const { tokens, clock } = this.options;
    const now = clock.wallMs();
    if (row.expires_at !== null && row.expires_at <= now) throw unknown(credentials);
    const { signature } = credentials;
    if (signature === undefined) return;
    const problem = timestampProblem(presented.timestamp, now);
    if (problem !== null) throw unauthorized(problem);
    const signed = { ...presented, timestamp: presented.timestamp as string };
    if (!isSignature(signature, tokens.secretOf(row), signed))
      throw unauthorized(
        'the signature does not fit: it is base64 of HMAC-SHA256 over METHOD, path with query, and timestamp, a line each',
      );
  }
}

/** What a caller sent: a token, or an access key and what was signed with its secret. */
interface Credentials {
  /** Under which the identity is remembered; tokens themselves are kept nowhere. */
  readonly key: string;
  readonly name: string;
  readonly signature: string | undefined;
}

function credentialsOf({ authorization }: Presented): Credentials {
  if (authorization === undefined) throw unauthorized(`an Authorization header is needed: ${forms}`);
  const credentials = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (credentials === undefined) throw unauthorized(`the Authorization header must be ${forms}`);
  const [name, signature] = credentials.split(':', 2) as [string, string?];
  return { key: signature === undefined ? hashOf(name) : `access key ${name}`, name, signature };
}

const unknown = ({ signature }: Credentials): ApiError =>
  unauthorized(`this ${signature === undefined ? 'token' : 'access key'} is unknown, revoked or has expired`);

const forms = 'Bearer <ACCESS_TOKEN>, or Bearer <ACCESS_KEY>:<SIGNATURE> with Couchbase-Timestamp';

const unauthorized = (message: string): ApiError =>
  new ApiError('Unauthorized', message, { 'www-authenticate': 'Bearer' });

// Stores tokens as hashes, and signing secrets encrypted under the key file.
import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { SecretBox } from '#auth/secret-box.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import { invalid } from '../answers/api-error.ts';
import { lockLimit } from '../store/lock-limit.ts';
import type { Store, TokenRow } from '../store/tables.ts';
import type { Role } from './caller.ts';
import { openSealed } from './sealed.ts';

const tokenBytes = 32;
const accessKeyBytes = 18;
const sealPurpose = 'cloud token secret';
/** Without a use for this long, the token of a start is taken for abandoned. */
const abandonedAfterMs = 90 * 86_400_000;
export const tokensMax = 10_000;
/** For how long an expired token is listed. */
const expiredKeptForMs = 90 * 86_400_000;

/** The origin of the tokens that the process with this home issues at its starts. */
export const startOrigin = (home: string): string => `start:${home}`;

/** A new token with its secrets, which are shown once. */
export interface NewToken {
  readonly id: string;
  readonly token: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface TokenRequest {
  readonly role: Role;
  readonly projectId: string | null;
  /** What issued the token: see `TokenRow`. */
  readonly origin: string;
  readonly expiresAt: number | null;
}

/** Secrets that the operator supplies; absent ones are generated. */
export interface GivenSecrets {
  readonly token?: string | undefined;
  readonly accessKey?: string | undefined;
  readonly secretKey?: string | undefined;
}

export interface StoredToken {
  readonly row: TokenRow;
  /** A token of a deleted project stays valid but has no permissions. */
  readonly projectExists: boolean;
}

export interface TokenStoreOptions {
  store: Store;
  secrets: SecretBox;
  clock: Clock;
  random: Random;
}

export class TokenStore {
  private readonly options: TokenStoreOptions;

  constructor(options: TokenStoreOptions) {
    this.options = options;
  }

  async issue(request: TokenRequest, given: GivenSecrets = {}): Promise<NewToken> {
    const { store, secrets, clock, random } = this.options;
    const randomText = (bytes: number): string => random.bytes(bytes).toString('base64url');
    const token = {
      id: random.uuid(),
      token: given.token ?? randomText(tokenBytes),
      accessKey: given.accessKey ?? randomText(accessKeyBytes),
      secretKey: given.secretKey ?? randomText(tokenBytes),
    };
    const row = {
      id: token.id,
      token_hash: hashOf(token.token),
      access_key: token.accessKey,
      secret_sealed: secrets.seal(sealPurpose, token.secretKey),
      role: request.role,
      project_id: request.projectId,
      origin: request.origin,
      created_at: clock.wallMs(),
      expires_at: request.expiresAt,
      revoked_at: null,
      last_used_at: null,
    };
    await store.transaction().execute(async (transaction) => {
      await lockLimit(transaction, 'tokens');
      await this.makeRoom(transaction, row);
      await transaction.insertInto('tokens').values(row).execute();
    });
    return token;
  }

  /**
   * Deletes tokens that expired long ago, and throws if there are too many valid ones. Revoked tokens stay: the file of `--config` may
   * still name them. Each server has one token of a start.
   */
  private async makeRoom(transaction: Store, { origin, created_at: nowMs }: TokenRow): Promise<void> {
    if (origin.startsWith(startOrigin(''))) return;
    await transaction
      .deleteFrom('tokens')
      .where('expires_at', '<', nowMs - expiredKeptForMs)
      .execute();
    const { count } = await transaction
      .selectFrom('tokens')
      .select((e) => e.fn.countAll().as('count'))
      .where('revoked_at', 'is', null)
      .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', nowMs)]))
      .executeTakeFirstOrThrow();
    if (Number(count) >= tokensMax)
      throw invalid(
        `token: there are ${tokensMax} valid tokens, which is the most there can be; revoke others first`,
      );
  }

  /** True if the token was ever issued, even if it has expired or was revoked. */
  wasIssued(token: string): Promise<boolean> {
    return this.hasRow('token_hash', hashOf(token));
  }

  /** As `wasIssued`, for an access key. */
  wasKeyIssued(accessKey: string): Promise<boolean> {
    return this.hasRow('access_key', accessKey);
  }

  /** A token that was not revoked; it may have expired. */
  byToken(token: string): Promise<StoredToken | null> {
    return this.findBy('token_hash', hashOf(token));
  }

  byAccessKey(accessKey: string): Promise<StoredToken | null> {
    return this.findBy('access_key', accessKey);
  }

  secretOf(row: TokenRow): string {
    return openSealed(this.options.secrets, sealPurpose, row.secret_sealed);
  }

  /** True if the key of this server decrypts the secret of the token. */
  canOpen({ secret_sealed: sealed }: TokenRow): boolean {
    try {
      this.options.secrets.open(sealPurpose, sealed);
      return true;
    } catch {
      return false;
    }
  }

  /** Writes the last use of these tokens. */
  async markUsed(ids: readonly string[], lastUseMs: number): Promise<void> {
    await this.options.store
      .updateTable('tokens')
      .set({ last_used_at: lastUseMs })
      .where('id', 'in', ids)
      .execute();
  }

  async revoke(which: { id: string } | { origin: string }): Promise<number> {
    const nowMs = this.options.clock.wallMs();
    const update = this.options.store
      .updateTable('tokens')
      .set({ revoked_at: nowMs })
      .where('revoked_at', 'is', null);
    const chosen =
      'id' in which ? update.where('id', '=', which.id) : update.where('origin', '=', which.origin);
    return Number((await chosen.executeTakeFirst()).numUpdatedRows);
  }

  /** Deletes tokens of an origin that were revoked earlier. */
  async deleteRevoked(origin: string): Promise<void> {
    await this.options.store
      .deleteFrom('tokens')
      .where('origin', '=', origin)
      .where('revoked_at', 'is not', null)
      .execute();
  }

  /**
   * Deletes tokens of earlier starts of servers that share this store and have not come back: revoked ones, and those that were not used
   * for long of homes that run no cluster.
   */
  async deleteAbandonedStarts(own: string): Promise<void> {
    const untilMs = this.options.clock.wallMs() - abandonedAfterMs;
    await this.options.store
      .deleteFrom('tokens')
      .where('origin', 'like', `${startOrigin('')}%`)
      .where('origin', '!=', own)
      .where('created_at', '<', untilMs)
      .where((e) => e.or([e('last_used_at', 'is', null), e('last_used_at', '<', untilMs)]))
      .where((e) =>
        e.or([
          e('revoked_at', '<', untilMs),
          e('origin', 'not in', e.selectFrom('clusters').select(sql<string>`'start:' || home`.as('origin'))),
        ]),
      )
      .execute();
  }

  list(): Promise<TokenRow[]> {
    return this.options.store.selectFrom('tokens').selectAll().orderBy('created_at').orderBy('id').execute();
  }

  private async hasRow(column: 'token_hash' | 'access_key', value: string): Promise<boolean> {
    const issued = this.options.store.selectFrom('tokens').select('id').where(column, '=', value);
    return (await issued.executeTakeFirst()) !== undefined;
  }

  private async findBy(column: 'token_hash' | 'access_key', value: string): Promise<StoredToken | null> {
    const found = await this.options.store
      .selectFrom('tokens')
      .leftJoin('projects', 'projects.id', 'tokens.project_id')
      .selectAll('tokens')
      .select('projects.id as project')
      .where(column, '=', value)
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    if (found === undefined) return null;
    const { project, ...row } = found;
    return { row, projectExists: row.project_id === project };
  }
}

/** Generated tokens have 256 random bits, and supplied ones at least 32 characters, so a fast hash cannot be reversed. */
export const hashOf = (token: string): string => hash('sha256', token);

// Tokens as they are kept: hashes of what callers present, and signing secrets encrypted under the key file.
import { createHash } from 'node:crypto';
import type { SecretBox } from '#auth/secret-box.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { Store, TokenRow } from '../store/tables.ts';
import type { Role } from './caller.ts';
import { openSealed } from './sealed.ts';

const tokenBytes = 32;
const accessKeyBytes = 18;
const purpose = 'cloud token secret';
/** Uses within this time are written as one. */
const usedEveryMs = 60_000;

/** Shown once. */
export interface NewToken {
  readonly id: string;
  readonly token: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface TokenWish {
  readonly role: Role;
  readonly projectId: string | null;
  /** See the row. */
  readonly origin: string;
  readonly expiresAt: number | null;
}

/** Those that are absent are made. */
export interface GivenSecrets {
  readonly token?: string | undefined;
  readonly accessKey?: string | undefined;
  readonly secretKey?: string | undefined;
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

  /** With secrets of its own, or with those that the operator gave. */
  async issue(wish: TokenWish, given: GivenSecrets = {}): Promise<NewToken> {
    const { store, secrets, clock, random } = this.options;
    const text = (bytes: number): string => random.bytes(bytes).toString('base64url');
    const made = {
      id: random.uuid(),
      token: given.token ?? text(tokenBytes),
      accessKey: given.accessKey ?? text(accessKeyBytes),
      secretKey: given.secretKey ?? text(tokenBytes),
    };
    await store
      .insertInto('tokens')
      .values({
        id: made.id,
        token_hash: hashOf(made.token),
        access_key: made.accessKey,
        secret_sealed: secrets.seal(purpose, made.secretKey),
        role: wish.role,
        project_id: wish.projectId,
        origin: wish.origin,
        created_at: clock.wallMs(),
        expires_at: wish.expiresAt,
        revoked_at: null,
        last_used_at: null,
      })
      .execute();
    return made;
  }

  /** A token of a project that was deleted is valid and has no role anywhere. */
  async hasItsProject({ project_id }: TokenRow): Promise<boolean> {
    if (project_id === null) return true;
    const project = this.options.store.selectFrom('projects').select('id').where('id', '=', project_id);
    return (await project.executeTakeFirst()) !== undefined;
  }

  /** Whether it was ever issued, valid or not. */
  async isKnown(token: string): Promise<boolean> {
    return (await this.one('token_hash', hashOf(token))) !== undefined;
  }

  /** The same of an access key. */
  async isKnownKey(accessKey: string): Promise<boolean> {
    return (await this.one('access_key', accessKey)) !== undefined;
  }

  /** A token that was neither revoked nor has expired. */
  async byToken(token: string): Promise<TokenRow | null> {
    return this.valid(await this.one('token_hash', hashOf(token)));
  }

  async byAccessKey(accessKey: string): Promise<TokenRow | null> {
    return this.valid(await this.one('access_key', accessKey));
  }

  /** Written now and then, not with every request. */
  async markUsed({ id, last_used_at }: TokenRow): Promise<void> {
    const now = this.options.clock.wallMs();
    if (last_used_at !== null && now - last_used_at < usedEveryMs) return;
    await this.options.store.updateTable('tokens').set({ last_used_at: now }).where('id', '=', id).execute();
  }

  secretOf(row: TokenRow): string {
    return openSealed(this.options.secrets, purpose, row.secret_sealed);
  }

  async revoke(which: { id: string } | { origin: string }): Promise<number> {
    const now = this.options.clock.wallMs();
    const update = this.options.store
      .updateTable('tokens')
      .set({ revoked_at: now })
      .where('revoked_at', 'is', null);
    const chosen =
      'id' in which ? update.where('id', '=', which.id) : update.where('origin', '=', which.origin);
    return Number((await chosen.executeTakeFirst()).numUpdatedRows);
  }

  list(): Promise<TokenRow[]> {
    return this.options.store.selectFrom('tokens').selectAll().orderBy('created_at').orderBy('id').execute();
  }

  private async one(column: 'token_hash' | 'access_key', value: string): Promise<TokenRow | undefined> {
    return this.options.store.selectFrom('tokens').selectAll().where(column, '=', value).executeTakeFirst();
  }

  private valid(row: TokenRow | undefined): TokenRow | null {
    if (row === undefined || row.revoked_at !== null) return null;
    return row.expires_at !== null && row.expires_at <= this.options.clock.wallMs() ? null : row;
  }
}

/** Tokens have 256 random bits: nobody finds one from its hash, however fast the hash is. */
const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

// The storage of a cloud: its data folder with the key of its secrets, and its database.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { SecretBox } from '#auth/secret-box.ts';
import { UnavailableError } from '#base/unavailable-error.ts';
import { TokenStore, type TokenStoreOptions } from '#cloud/access/tokens.store.ts';
import { migrate } from '#cloud/store/migrations.ts';
import type { OpenStore, StoreState } from '#cloud/store/state.ts';
import type { Store } from '#cloud/store/tables.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { DataFolder } from '../data-folder.ts';
import { StartError } from '../start-error.ts';

export interface StorageOptions {
  readonly 'data-dir': string;
  readonly database: string | undefined;
  readonly 'key-file': string | undefined;
}

export interface CloudStorage {
  readonly folder: DataFolder;
  readonly store: Store;
  readonly state: StoreState;
  readonly secrets: SecretBox;
}

/** Creates what is absent and migrates the tables. */
export async function openStorage(options: StorageOptions, log: Log): Promise<CloudStorage> {
  const folder = DataFolder.open(options['data-dir'], realRandom);
  const { store, state } = await openStore(options, folder.path, log).catch((error: Error) => {
    const { message } = error instanceof UnavailableError ? (error.cause as Error) : error;
    throw new StartError(`--database: cannot use ${nameOf(options, folder.path)}: ${message}`, {
      cause: error,
    });
  });
  const secrets = secretsOf(options, folder);
  // Only for a database that one cloud uses alone.
  if (
    !isPostgres(options.database) &&
    !(await keyOpensTokens({ store, secrets, clock: realClock, random: realRandom }))
  ) {
    await store.destroy();
    throw new StartError(
      `--key-file: ${keyName(options)} does not open the secrets of ${nameOf(options, folder.path)}, which another key sealed: give the key that this cloud had`,
    );
  }
  return { folder, store, state, secrets };
}

/**
 * Called before a command encrypts a secret. Throws unless the key is that of a server of the database: the servers of one PostgreSQL may
 * have different keys as long as they get no signed requests, but a key of no server would make a secret that none can decrypt.
 */
export async function requireKeyOfServer(
  { store, secrets, folder }: CloudStorage,
  options: StorageOptions,
): Promise<void> {
  if (await keyOpensTokens({ store, secrets, clock: realClock, random: realRandom }, 'start:%')) return;
  throw new StartError(
    `--key-file: ${keyName(options)} is the key of no server of ${nameOf(options, folder.path)}: give the key of the servers, which could not verify signed requests of this token otherwise`,
  );
}

/** False if another key encrypted the secrets of all tokens of these origins. */
async function keyOpensTokens(options: TokenStoreOptions, origins = '%'): Promise<boolean> {
  const { store } = options;
  const rows = await store
    .selectFrom('tokens')
    .selectAll()
    .where('origin', 'like', origins)
    .orderBy('created_at', 'desc')
    .limit(100)
    .execute();
  const tokens = new TokenStore(options);
  return rows.length === 0 || rows.some((row) => tokens.canOpen(row));
}

/** Whether there is a cloud already; a database server counts as one, since it is not asked. */
export const cloudExists = ({ 'data-dir': folder, database }: StorageOptions): boolean =>
  isPostgres(database) || existsSync(fileOf(database, resolve(folder)));

const isPostgres = (database: string | undefined): database is string =>
  database !== undefined && /^postgres(ql)?:/.test(database);

const fileOf = (database: string | undefined, folder: string): string =>
  database === undefined ? join(folder, 'cloud.db') : resolve(database);

/** The database for messages, without the user and password of a server. */
function nameOf({ database }: StorageOptions, folder: string): string {
  if (!isPostgres(database)) return fileOf(database, folder);
  return URL.canParse(database) ? new URL(database).host + new URL(database).pathname : 'that address';
}

function secretsOf({ 'key-file': path }: StorageOptions, folder: DataFolder): SecretBox {
  try {
    return folder.secrets(path && resolve(path));
  } catch (error) {
    throw new StartError(
      `--key-file: cannot use ${keyName({ 'key-file': path })}: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

const keyName = ({ 'key-file': path }: Pick<StorageOptions, 'key-file'>): string =>
  path === undefined ? 'the secret.key of the data folder' : resolve(path);

async function openStore(options: StorageOptions, folder: string, log: Log): Promise<OpenStore> {
  const open = await connect(options, folder, log);
  try {
    await migrate(open.store, open.checksums);
  } catch (error) {
    await open.store.destroy();
    throw error;
  }
  return open;
}

async function connect({ database }: StorageOptions, folder: string, log: Log): Promise<OpenStore> {
  if (isPostgres(database)) {
    const { openPostgres } = await import('#cloud/store/postgres.adapter.ts');
    return openPostgres(database, (error) => log.warn('database.connection_lost', { reason: error.message }));
  }
  const { openSqlite } = await import('#cloud/store/sqlite.adapter.ts');
  return openSqlite(fileOf(database, folder));
}

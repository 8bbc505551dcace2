// Where a cloud keeps what it knows: its data folder with the key of its secrets, and its database.
import { join, resolve } from 'node:path';
import type { SecretBox } from '#auth/secret-box.ts';
import { migrate } from '#cloud/store/migrations.ts';
import type { Store } from '#cloud/store/tables.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { DataFolder } from '../data-folder.ts';
import { StartError } from '../start-error.ts';

export interface PlaceOptions {
  readonly 'data-dir': string;
  readonly database: string | undefined;
  readonly 'key-file': string | undefined;
}

export interface CloudPlace {
  readonly folder: DataFolder;
  readonly store: Store;
  readonly secrets: SecretBox;
}

/** Makes what is absent and brings the tables up to date. */
export async function openPlace(options: PlaceOptions, log: Log): Promise<CloudPlace> {
  const folder = DataFolder.open(options['data-dir'], realRandom);
  const store = await openStore(options, folder.path, log);
  await migrate(store);
  return { folder, store, secrets: secretsOf(options, folder) };
}

function secretsOf({ 'key-file': path }: PlaceOptions, folder: DataFolder): SecretBox {
  if (path === undefined) return folder.secrets();
  try {
    return folder.secrets(resolve(path));
  } catch (error) {
    throw new StartError(`--key-file: cannot use ${resolve(path)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function openStore({ database }: PlaceOptions, folder: string, log: Log): Promise<Store> {
  if (database !== undefined && /^postgres(ql)?:/.test(database)) {
    const { openPostgres } = await import('#cloud/store/postgres.adapter.ts');
    return openPostgres(database, (error) => log.warn('database.connection_lost', { reason: error.message }));
  }
  const { openSqlite } = await import('#cloud/store/sqlite.adapter.ts');
  return openSqlite(database === undefined ? join(folder, 'cloud.db') : resolve(database));
}

// Opens the configuration of a data folder. Where it was lost, a node would begin anew beside the data of the old one and let
// everybody in: such a folder is left as it is.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedConfigStore, type EmbeddedStoreOptions } from '#replog/embedded-config-store.adapter.ts';
import { configurationPath } from './data-folder.ts';
import { StartError } from './start-error.ts';

export function openConfiguration(folder: string, options?: EmbeddedStoreOptions): EmbeddedConfigStore {
  const path = configurationPath(folder);
  // Before it is opened: SQLite removes the log of a file that is empty.
  if (sizeOf(path) === 0 && (sizeOf(`${path}-wal`) > 0 || hasData(folder))) throw lost(path);
  const store = open(path, options);
  if (store.revision() > 0 || !hasData(folder)) return store;
  void store[Symbol.asyncDispose]();
  throw lost(path);
}

function open(path: string, options: EmbeddedStoreOptions | undefined): EmbeddedConfigStore {
  try {
    return new EmbeddedConfigStore(path, options);
  } catch (error) {
    throw new StartError((error as Error).message, { cause: error });
  }
}

const lost = (path: string): StartError =>
  new StartError(
    `the configuration file ${path} is missing or empty, though its folder holds what a node kept: put the file back, or take another --data-dir`,
  );

/** What a node makes only once it has a configuration. */
const hasData = (folder: string): boolean =>
  ['buckets', 'events'].some((name) => !isEmpty(join(folder, name)));

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch {
    return true;
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

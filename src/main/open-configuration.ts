// Opens the configuration of a data folder. Refuses a folder that has data but no configuration: the node would start
// unprovisioned beside the old data and accept every client.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedConfigStore, type EmbeddedStoreOptions } from '#replog/embedded-config-store.adapter.ts';
import { configurationPath, DataFolder } from './data-folder.ts';
import { StartError } from './start-error.ts';

export function openConfiguration(folder: string, options?: EmbeddedStoreOptions): EmbeddedConfigStore {
  const path = configurationPath(folder);
  if (DataFolder.isOnNats(folder))
    throw new StartError(
      `the configuration of the data folder ${folder} is on NATS servers: start it with their --engine nats://...`,
    );
  // Checked before opening: SQLite removes the log of an empty file.
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
    `the configuration file ${path} is missing or empty, though its folder holds data of a node: put the file back, or use another --data-dir`,
  );

/** Files and folders that a node creates only after its configuration. */
export const hasData = (folder: string): boolean =>
  ['buckets', 'events'].some((name) => !isEmpty(join(folder, name)));

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch {
    return true;
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

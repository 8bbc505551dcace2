// A file that lists the collections in which transaction attempts may remain after a crash of the process.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivate } from '#ports/private-file.ts';
import type { KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import type { AttemptCollections } from '../transactions/lost-attempts.ts';

const pathIn = (dataFolder: string): string => join(dataFolder, 'query-attempts.json');

export const hasAttemptCollections = (dataFolder: string): boolean => existsSync(pathIn(dataFolder));

export class StoredAttemptCollections implements AttemptCollections {
  private readonly path: string;
  private readonly collections = new Map<string, KeyspaceName>();

  constructor(dataFolder: string) {
    this.path = pathIn(dataFolder);
    for (const collection of read(this.path)) this.collections.set(nameOf(collection), collection);
  }

  all(): readonly KeyspaceName[] {
    return [...this.collections.values()];
  }

  /** Written to the file before the attempt is recorded in the collection. */
  add(collection: KeyspaceName): void {
    if (this.collections.has(nameOf(collection))) return;
    writePrivate(this.path, JSON.stringify([...this.all(), collection]));
    // Only now: after a failed write the next attempt in the collection must write the file.
    this.collections.set(nameOf(collection), collection);
  }

  clear(): void {
    if (this.collections.size === 0) return;
    this.collections.clear();
    rmSync(this.path, { force: true });
  }
}

const nameOf = ({ bucket, scope, collection }: KeyspaceName): string =>
  JSON.stringify([bucket, scope, collection]);

/** An unreadable file counts as empty: attempts in its collections are found when a transaction reads or writes their documents. */
function read(path: string): readonly KeyspaceName[] {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as readonly KeyspaceName[];
  } catch {
    return [];
  }
}

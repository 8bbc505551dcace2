// Creates data files, and recognizes them by their first bytes before SQLite opens them.
import { closeSync, openSync, readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { OpenPlace } from '#ports/file-place.ts';
import { keepPrivate } from '#ports/private-file.ts';
import { syncPath } from '#ports/sync-path.ts';
import { applicationId, formatVersion, formatVersionMin, pageBytes, schemaSql } from '../schema.ts';

/** A data file and the expected contents of its header (the rows of table `file`). */
export interface DataFileSpec {
  path: string;
  bucketUuid: string;
  incarnation: number;
  file: number;
  generation: number;
  /** The lock of the data folder. */
  lock?: OpenPlace;
}

export const CleanFlag = { clean: 'stopped cleanly', open: 'in use' } as const;

/** Creates the file and syncs it; the caller still has to sync its folder. */
export function createDataFile(spec: DataFileSpec): void {
  keepPrivate(spec.path);
  const db = new DatabaseSync(spec.path);
  try {
    db.exec(`pragma page_size=${pageBytes}; pragma journal_mode=off; pragma synchronous=off;`);
    db.exec(
      `begin; pragma application_id=${applicationId}; pragma user_version=${formatVersion}; ${schemaSql}`,
    );
    const put = db.prepare('insert into file values(?, ?)');
    for (const [name, value] of Object.entries(headerOf(spec))) put.run(name, value);
    put.run('clean', CleanFlag.clean);
    db.exec('commit; pragma journal_mode=wal;');
  } finally {
    db.close();
  }
  syncPath(spec.path);
}

/** Throws, naming the difference, unless the header is the expected one. */
export function checkHeader(spec: DataFileSpec, header: ReadonlyMap<unknown, unknown>): void {
  for (const [name, wanted] of Object.entries(headerOf(spec))) {
    const found = header.get(name);
    if (found !== wanted) throw new Error(`its header has ${name} ${String(found)}, not ${wanted}`);
  }
}

/** SQLite treats an empty file as a new database, and a file of another program as its own: check first. */
export function checkFormat(path: string): void {
  const head = readHead(path);
  if (head.length < 100 || head.toString('latin1', 0, 16) !== 'SQLite format 3\0') {
    throw new Error('it is not a SQLite file');
  }
  if (head.readUInt32BE(68) !== applicationId) throw new Error('it is not a Divan data file');
  const version = head.readUInt32BE(60);
  if (version > formatVersion) {
    throw new Error(`a newer Divan wrote it (format ${version}, this one reads up to ${formatVersion})`);
  }
  if (version < formatVersionMin) throw new Error(`its format ${version} is unknown`);
}

const headerOf = (spec: DataFileSpec): Record<string, string> => ({
  bucketUuid: spec.bucketUuid,
  incarnation: String(spec.incarnation),
  file: String(spec.file),
  generation: String(spec.generation),
});

function readHead(path: string): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    const head = Buffer.alloc(100);
    return head.subarray(0, readSync(descriptor, head, 0, head.length, 0));
  } finally {
    closeSync(descriptor);
  }
}

// Index files: one folder per bucket, one file per index. The service can rebuild them from the documents, so an unusable
// file is replaced, and one without a definition removed.
import { mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '#ports/log.ts';
import { SqliteIndexFile, UnusableFileError } from './index-file.adapter.ts';
import { indexFilesIn, namePattern } from './index-files.adapter.ts';
import { SqliteIndexReader } from './index-reader.adapter.ts';
import type { FileIdentity, IndexFile, IndexReader, IndexReaders, IndexStore } from './index-store.ts';

const suffix = '.index';
/** What SQLite appends to the name of a file for its log, shared memory and journal. */
const endings = ['', '-wal', '-shm', '-journal'];

export class IndexFolder implements IndexStore {
  private readonly folder: string;
  private readonly log: Log;
  private readonly checkedOnOpenRowsMax: number | undefined;

  /** The tables of a file with more than `checkedOnOpenRowsMax` rows are compared with each other only after the file is opened. */
  constructor(
    folder: string,
    log: Log,
    { checkedOnOpenRowsMax }: { readonly checkedOnOpenRowsMax?: number } = {},
  ) {
    this.folder = folder;
    this.log = log;
    this.checkedOnOpenRowsMax = checkedOnOpenRowsMax;
  }

  open(identity: FileIdentity): IndexFile {
    const { bucketUuid, indexId } = identity;
    mkdirSync(join(this.folder, safe(bucketUuid)), { recursive: true, mode: 0o700 });
    const path = pathOf(this.folder, bucketUuid, indexId);
    const { checkedOnOpenRowsMax } = this;
    const options = checkedOnOpenRowsMax === undefined ? {} : { checkedOnOpenRowsMax };
    try {
      return new SqliteIndexFile(path, identity, options);
    } catch (error) {
      if (!(error instanceof UnusableFileError)) throw error;
      this.log.warn('index.file_replaced', { index: indexId, reason: error.message });
      removeFile(path);
      return new SqliteIndexFile(path, identity, options);
    }
  }

  remove(bucketUuid: string, indexId: string): void {
    removeFile(pathOf(this.folder, bucketUuid, indexId));
    try {
      rmdirSync(join(this.folder, bucketUuid));
    } catch {
      // The bucket has other index files, or never had one.
    }
  }

  list(): { bucketUuid: string; indexId: string }[] {
    return indexFilesIn(this.folder);
  }
}

export class IndexFolderReaders implements IndexReaders {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  open(bucketUuid: string, indexId: string): IndexReader {
    return new SqliteIndexReader(pathOf(this.folder, bucketUuid, indexId));
  }
}

const pathOf = (folder: string, bucketUuid: string, indexId: string): string =>
  join(folder, safe(bucketUuid), safe(indexId) + suffix);

/** Asserts that the name is an id of the node, so that a path cannot leave the folder. */
function safe(name: string): string {
  if (!namePattern.test(name)) throw new Error(`"${name}" is not an id`);
  return name;
}

function removeFile(path: string): void {
  for (const ending of endings) rmSync(path + ending, { force: true });
}

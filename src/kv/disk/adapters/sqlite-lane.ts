// The data files that one thread serves, over all buckets. Synchronous throughout: whoever hosts it, a worker or the
// caller's own thread, brings the promises.
import {
  type BackfillPage,
  type BucketFiles,
  DamagedFileError,
  type DiskSizes,
  type Fetched,
  type OpenedFile,
  type OpenResult,
} from '../engine.ts';
import { BackfillReader } from './backfill-reader.ts';
import { layoutPath, prepareFolder, removeFolder, renewFolder } from './bucket-folder.ts';
import { DataFile } from './data-file.ts';
import { Fetcher } from './fetcher.ts';
import type { DataFileSpec } from './file-format.ts';
import type { LoadCursor, LoadPage } from './page-reader.ts';

export class SqliteLane {
  private readonly monotonicMs: () => number;
  private readonly files = new Map<string, DataFile>();
  private readonly unsettled = new Set<DataFile>();
  private readonly fetchers = new Map<string, Fetcher>();
  private readonly backfills = new Map<string, BackfillReader>();

  constructor(options: { monotonicMs: () => number }) {
    this.monotonicMs = options.monotonicMs;
  }

  /** Which files to open. Throws, naming the folder, when the folder cannot be understood; nothing is changed then. */
  prepare(files: BucketFiles): DataFileSpec[] {
    return named(files, () => prepareFolder(files));
  }

  /** As `prepare`, with empty files. The bucket's files are closed in every lane before. */
  renew(files: BucketFiles): DataFileSpec[] {
    return named(files, () => renewFolder(files));
  }

  open(specs: readonly DataFileSpec[]): OpenResult {
    const result: OpenResult = { opened: [], damaged: [] };
    for (const spec of specs) {
      try {
        result.opened.push(this.openFile(spec));
      } catch (error) {
        if (!(error instanceof DamagedFileError)) throw error;
        result.damaged.push({ file: error.file, path: error.path, reason: error.reason });
      }
    }
    return result;
  }

  commit(bucketUuid: string, file: number, cuts: Uint8Array): void {
    const data = this.find(bucketUuid, file);
    data.commit(cuts);
    this.unsettled.add(data);
  }

  /** Work that a commit leaves and its caller need not wait for. */
  settle(): void {
    for (const data of this.unsettled) data.settle();
    this.unsettled.clear();
  }

  loadPage(bucketUuid: string, file: number, cursor: LoadCursor): LoadPage {
    return this.find(bucketUuid, file).loadPage(cursor);
  }

  /** Over a connection that only reads, opened when it is first needed. The file is written by another lane or this. */
  fetchItems(spec: DataFileSpec, wants: Uint8Array): Fetched {
    return this.fetcherOf(spec).fetchItems(wants);
  }

  /** Over the connection of `fetchItems`. */
  expiredKeys(spec: DataFileSpec, atSeconds: number, limit: number): Uint8Array {
    return this.fetcherOf(spec).expiredKeys(atSeconds, limit);
  }

  /** As `fetchItems`, over another connection: a broken row fails its backfill and nothing else. */
  backfillPage(spec: DataFileSpec, vb: number, afterSeqno: number): BackfillPage {
    const key = keyOf(spec.bucketUuid, spec.file);
    try {
      const present = this.backfills.get(key);
      const reader = present ?? new BackfillReader(spec.path);
      if (!present) this.backfills.set(key, reader);
      return reader.readPage(vb, afterSeqno);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new DamagedFileError({ file: spec.file, path: spec.path, reason }, { cause: error });
    }
  }

  /** Closes the bucket's connections that only read. */
  closeReaders(bucketUuid: string): void {
    for (const readers of [this.fetchers, this.backfills]) {
      for (const [key, reader] of readers) {
        if (!key.startsWith(keyOf(bucketUuid, ''))) continue;
        readers.delete(key);
        reader.close();
      }
    }
  }

  sizes(bucketUuid: string): DiskSizes {
    const sizes = { fileBytes: 0, dataBytes: 0 };
    for (const [, data] of this.filesOf(bucketUuid)) {
      const { fileBytes, dataBytes } = data.sizes();
      sizes.fileBytes += fileBytes;
      sizes.dataBytes += dataBytes;
    }
    return sizes;
  }

  /** Closes the bucket's files in this lane, all of them even when one throws. */
  close(bucketUuid: string, clean: boolean): void {
    const errors: unknown[] = [];
    for (const [key, data] of this.filesOf(bucketUuid)) {
      this.files.delete(key);
      this.unsettled.delete(data);
      try {
        data.close(clean);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  remove(folder: string): void {
    removeFolder(folder);
  }

  /** Closes everything as it is. */
  stop(): void {
    for (const readers of [this.fetchers, this.backfills]) {
      for (const reader of readers.values()) reader.close();
      readers.clear();
    }
    for (const data of this.files.values()) data.close(false);
    this.files.clear();
    this.unsettled.clear();
  }

  private fetcherOf(spec: DataFileSpec): Fetcher {
    const key = keyOf(spec.bucketUuid, spec.file);
    const present = this.fetchers.get(key);
    const fetcher = present ?? new Fetcher(spec.path);
    if (!present) this.fetchers.set(key, fetcher);
    return fetcher;
  }

  private openFile(spec: DataFileSpec): OpenedFile {
    const { data, opened } = DataFile.open(spec, this.monotonicMs);
    this.files.set(keyOf(spec.bucketUuid, spec.file), data);
    return opened;
  }

  private find(bucketUuid: string, file: number): DataFile {
    const data = this.files.get(keyOf(bucketUuid, file));
    if (data === undefined) throw new Error(`file ${file} of bucket ${bucketUuid} is not open`);
    return data;
  }

  private filesOf(bucketUuid: string): [string, DataFile][] {
    return [...this.files].filter(([key]) => key.startsWith(keyOf(bucketUuid, '')));
  }
}

const keyOf = (bucketUuid: string, file: number | ''): string => `${bucketUuid}/${file}`;

function named<T>(files: BucketFiles, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const path = layoutPath(files.folder);
    throw new DamagedFileError({ file: 0, path, reason }, { cause: error });
  }
}

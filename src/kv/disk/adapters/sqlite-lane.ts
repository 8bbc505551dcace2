// The data files that one thread serves, over all buckets. Synchronous throughout: its host, a worker or the caller's own
// thread, adds the promises.
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  addSizes,
  type BackfillRequest,
  type BucketFiles,
  DamagedFileError,
  DiskFullError,
  type DiskSizes,
  type FetchedItems,
  type LargeItems,
  type LoadedValues,
  type OpenedFile,
  type OpenResult,
  type PurgedVbucket,
} from '../../data/disk-engine.ts';
import { decodeKeys } from '../../data/document-keys.ts';
import { BackfillReader, type PackedPages } from './backfill-reader.ts';
import {
  LaterIncarnationError,
  layoutPath,
  makeNextGeneration,
  prepareFolder,
  publishLayout,
  removeDataFile,
  removeFolder,
  renewFolder,
  stageGeneration,
} from './bucket-folder.ts';
import { DataFile } from './data-file.ts';
import { type EncodedExpiredKeys, type EncodedExpiredRequest, Fetcher } from './fetcher.ts';
import { type CopyState, type CopyStep, FileCopy } from './file-copy.ts';
import type { DataFileSpec } from './file-format.ts';
import { lacksSpace } from './no-space.ts';
import type { LoadCursor, LoadPage } from './page-reader.ts';

/** A data file and the empty one to which its live rows are copied. */
export interface CopyPlan {
  sourcePath: string;
  target: DataFileSpec;
}

/** Space that a copy leaves for commits, besides an eighth of its own size. */
const spareBytes = 64 * 1024 * 1024;

export class SqliteLane {
  private readonly monotonicMs: () => number;
  private readonly files = new Map<string, DataFile>();
  private readonly uncheckpointed = new Set<DataFile>();
  /** The buckets that delay checkpoints. */
  private readonly checkpointDelays = new Set<string>();
  private readonly fetchers = new Map<string, Fetcher>();
  private readonly backfills = new Map<string, BackfillReader>();
  /** By the path of the new file. */
  private readonly copies = new Map<string, FileCopy>();
  /** Paths of new files that `files.json` names, or may name. */
  private readonly published = new Set<string>();

  constructor(options: { monotonicMs: () => number }) {
    this.monotonicMs = options.monotonicMs;
  }

  /** Returns which files to open. Throws, naming the folder, when its contents are not understood; nothing is changed then. */
  prepare(files: BucketFiles): DataFileSpec[] {
    return asDamage(files, () => prepareFolder(files));
  }

  /** As `prepare`, with empty files. All lanes must have closed the bucket's files before. */
  renew(files: BucketFiles): DataFileSpec[] {
    return asDamage(files, () => renewFolder(files));
  }

  /** Ends at the first file for which the disk has no space. */
  open(specs: readonly DataFileSpec[]): OpenResult {
    const result: OpenResult = { opened: [], damaged: [] };
    for (const spec of specs) {
      try {
        result.opened.push(this.openFile(spec));
      } catch (error) {
        if (error instanceof DiskFullError) {
          return { ...result, noSpace: { path: spec.path, reason: error.message } };
        }
        if (!(error instanceof DamagedFileError)) throw error;
        result.damaged.push({ file: error.file, path: error.path, reason: error.reason });
      }
    }
    return result;
  }

  /** Returns the milliseconds that the commit took. */
  commit(bucketUuid: string, file: number, cuts: Uint8Array, isUrgent: boolean): number {
    const beganMs = this.monotonicMs();
    const data = this.find(bucketUuid, file);
    data.commit(cuts, isUrgent);
    if (!data.hasLogged) this.uncheckpointed.add(data);
    return this.monotonicMs() - beganMs;
  }

  releaseLog(bucketUuid: string, file: number): void {
    const data = this.find(bucketUuid, file);
    data.releaseLog();
    this.uncheckpointed.add(data);
  }

  /** Commits that clients waited for become readable to other lanes. */
  writeLogged(bucketUuid: string, file: number): void {
    const data = this.find(bucketUuid, file);
    data.writeLogged();
    this.uncheckpointed.add(data);
  }

  drop(bucketUuid: string, file: number, vbs: readonly number[]): void {
    const data = this.find(bucketUuid, file);
    data.drop(vbs);
    this.uncheckpointed.add(data);
  }

  rollBack(bucketUuid: string, file: number, cut: Uint8Array): boolean {
    const data = this.find(bucketUuid, file);
    const isDone = data.rollBack(cut);
    this.uncheckpointed.add(data);
    return isDone;
  }

  /** Does the work after commits for which their callers need not wait: the checkpoint of one file. Returns whether other files may need one. */
  checkpoint(): boolean {
    const isDelayed = this.checkpointDelays.size > 0;
    for (const data of this.uncheckpointed) {
      if (!isDelayed) this.uncheckpointed.delete(data);
      if (data.checkpoint(isDelayed)) break;
    }
    return !isDelayed && this.uncheckpointed.size > 0;
  }

  /** See `DiskEngine.delayCheckpoints`. */
  delayCheckpoints(bucketUuid: string, isDelayed: boolean): void {
    if (isDelayed) this.checkpointDelays.add(bucketUuid);
    else this.checkpointDelays.delete(bucketUuid);
  }

  loadPage(bucketUuid: string, file: number, cursor: LoadCursor, values: LoadedValues): LoadPage {
    return this.find(bucketUuid, file).loadPage(cursor, values);
  }

  /**
   * Uses a read-only connection, opened when it is first needed. The lane that writes the file is asked only while the disk has no space for the rows
   * of the log of cuts: it reads as if they were written.
   */
  fetchItems(spec: DataFileSpec, keys: Uint8Array): FetchedItems {
    const vbs = (): number[] => decodeKeys(keys).map(({ vb }) => vb);
    return this.fetch(spec, (fetcher) => fetcher.fetchItems(keys), vbs);
  }

  /** Reads as `fetchItems` does. */
  expiredKeys(spec: DataFileSpec, request: EncodedExpiredRequest): EncodedExpiredKeys {
    return this.fetch(spec, (fetcher) => fetcher.expiredKeys(request));
  }

  /** Reads as `fetchItems` does. `after` is one encoded key; its key may be empty, to begin at the vbucket's start. */
  collectionKeys(spec: DataFileSpec, prefix: Uint8Array, after: Uint8Array, limit: number): Uint8Array {
    return this.fetch(spec, (fetcher) => fetcher.collectionKeys(prefix, after, limit));
  }

  /** Reads as `fetchItems` does. */
  largeItems(spec: DataFileSpec, after: number): LargeItems {
    return this.fetch(spec, (fetcher) => fetcher.largeItems(after));
  }

  /** As `fetchItems`, over another connection: a damaged row fails its page and nothing else. */
  backfillPages(spec: DataFileSpec, requests: readonly BackfillRequest[]): PackedPages {
    const key = keyOf(spec.bucketUuid, spec.file);
    const data = this.files.get(key);
    try {
      if (data) {
        const vbs = new Set(requests.map(({ vb }) => vb));
        return data.readWithLogged(vbs, (db) => new BackfillReader(spec, db).readPages(requests));
      }
      const present = this.backfills.get(key);
      const reader = present ?? BackfillReader.open(spec);
      if (!present) this.backfills.set(key, reader);
      return reader.readPages(requests);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new DamagedFileError({ file: spec.file, path: spec.path, reason }, { cause: error });
    }
  }

  /** Closes the bucket's read-only connections. */
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
    return addSizes(this.filesOf(bucketUuid).map(([, data]) => data.sizes()));
  }

  fileBytes(bucketUuid: string, file: number): number {
    return this.find(bucketUuid, file).sizes().fileBytes;
  }

  /** Creates the target file of a copy, if there is room for it. */
  planCopy(bucketUuid: string, file: number): CopyPlan {
    const data = this.find(bucketUuid, file);
    // Old tombstones among them can be removed only if the copy finds them.
    data.writeLogged();
    checkRoom(data.spec.path, data.sizes().dataBytes);
    return { sourcePath: data.spec.path, target: makeNextGeneration(data.spec) };
  }

  /** Runs in the lane that copies. */
  beginCopy({ sourcePath, target }: CopyPlan, purgeBeforeSeconds: number): void {
    const { monotonicMs } = this;
    this.copies.set(target.path, new FileCopy({ sourcePath, target, purgeBeforeSeconds, monotonicMs }));
  }

  copyPage({ target }: CopyPlan): CopyStep {
    return this.copyTo(target.path).step();
  }

  suspendCopy({ target }: CopyPlan): CopyState {
    const copy = this.copyTo(target.path);
    this.copies.delete(target.path);
    return copy.suspend();
  }

  abandonCopy({ target }: CopyPlan): void {
    this.copies.get(target.path)?.close();
    this.copies.delete(target.path);
  }

  /** Removes the copy's file, unless it may have become the bucket's file. */
  removeCopy({ target }: CopyPlan): void {
    if (!this.published.has(target.path)) removeDataFile(target.path);
  }

  /** Runs in the file's own lane, so between two commits: completes the copy and replaces the file by it. */
  switchFile({ sourcePath, target }: CopyPlan, state: CopyState): PurgedVbucket[] {
    const { monotonicMs } = this;
    const old = this.find(target.bucketUuid, target.file);
    old.writeLogged();
    const copy = new FileCopy({ sourcePath, target, purgeBeforeSeconds: 0, monotonicMs, state });
    try {
      const purged = copy.finish();
      stageGeneration(target);
      this.replace(old, target);
      return purged;
    } finally {
      copy.close();
    }
  }

  /** Closes the bucket's files in this lane, all of them even when one throws. */
  close(bucketUuid: string, clean: boolean, by?: string): void {
    const errors: unknown[] = [];
    this.checkpointDelays.delete(bucketUuid);
    for (const [key, data] of this.filesOf(bucketUuid)) {
      this.files.delete(key);
      this.uncheckpointed.delete(data);
      try {
        data.close(clean, by);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  remove(folder: string): void {
    removeFolder(folder);
  }

  /** Closes everything without marking files clean. */
  stop(): void {
    for (const readers of [this.fetchers, this.backfills]) {
      for (const reader of readers.values()) reader.close();
      readers.clear();
    }
    for (const copy of this.copies.values()) copy.close();
    this.copies.clear();
    for (const data of this.files.values()) data.close(false);
    this.files.clear();
    this.uncheckpointed.clear();
  }

  /** `vbs`: the vbuckets that are read; without it, any. */
  private fetch<T>(spec: DataFileSpec, read: (fetcher: Fetcher) => T, vbs?: () => number[]): T {
    const key = keyOf(spec.bucketUuid, spec.file);
    const data = this.files.get(key);
    if (data) return data.readWithLogged(vbs ? new Set(vbs()) : null, (db) => read(new Fetcher(db)));
    const present = this.fetchers.get(key);
    const fetcher = present ?? Fetcher.open(spec.path);
    if (!present) this.fetchers.set(key, fetcher);
    return read(fetcher);
  }

  /** The old file is not written to any more, whether or not this fails: `files.json` may name the new one already. */
  private replace(old: DataFile, target: DataFileSpec): void {
    this.uncheckpointed.delete(old);
    this.published.add(target.path);
    try {
      publishLayout(dirname(target.path));
      old.retire('it was replaced');
      this.openFile(target);
    } catch (error) {
      old.retire(error instanceof Error ? error.message : String(error));
      throw error;
    }
    this.published.delete(old.spec.path);
    removeDataFile(old.spec.path);
  }

  private copyTo(path: string): FileCopy {
    const copy = this.copies.get(path);
    if (copy === undefined) throw new Error(`nothing is copied to ${path}`);
    return copy;
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

/** Throws an error that names the missing space, unless a copy of this size fits on the disk and leaves commits some space. */
function checkRoom(path: string, dataBytes: number): void {
  const { bavail, bsize } = statfsSync(path);
  const needed = dataBytes + Math.floor(dataBytes / 8) + spareBytes;
  const free = bavail * bsize;
  if (free >= needed) return;
  throw new Error(
    `compaction of ${path} needs ${mib(needed)} MiB of free disk space, ${mib(free)} MiB are free`,
  );
}

const mib = (bytes: number): number => Math.ceil(bytes / 1024 / 1024);

/** An error of the folder becomes a DamagedFileError that names `files.json`. A full disk becomes a DiskFullError. */
function asDamage<T>(files: BucketFiles, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (lacksSpace(error)) throw new DiskFullError(new Uint8Array(0), reason, { cause: error });
    const path = layoutPath(files.folder);
    const isLater = error instanceof LaterIncarnationError;
    throw new DamagedFileError({ file: 0, path, reason, isLater }, { cause: error });
  }
}

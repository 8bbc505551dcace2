// A disk engine in memory that models commits, syncs and failures. A `MemoryDisk` outlives the engines that use it, as a disk
// outlives processes. For tests and for simulating a cluster in one process.
import {
  type BackfillPage,
  type BucketFiles,
  type CollectionKeysRequest,
  type CompactOptions,
  type CompactResult,
  type CutBuffer,
  type DamagedFile,
  DamagedFileError,
  type DiskEngine,
  DiskFullError,
  type DiskSizes,
  type ExpiredKey,
  type ExpiredKeysRequest,
  type FetchedItems,
  type LargeItems,
  type LoadedValues,
  type OpenResult,
  type PurgedVbucket,
} from '../data/disk-engine.ts';
import type { DocumentKey } from '../data/document-keys.ts';
import { MemoryFile } from './memory-file.ts';

/** The time that each commit reports. */
const commitMs = 0;

interface StoredBucket {
  bucketUuid: string;
  incarnation: number;
  files: MemoryFile[];
}

export interface MemoryDiskOptions {
  /** Awaited between writing a commit and syncing it: a slow disk, or a gate that a test controls. */
  sync?: () => Promise<void>;
  /** Awaited by each fetch. */
  read?: () => Promise<void>;
  /** Awaited before all documents of a file are read. */
  load?: () => Promise<void>;
}

export class MemoryDisk {
  /** By folder. */
  readonly buckets = new Map<string, StoredBucket>();
  /** Number of crashes. A crash stops the engines that were started before. */
  crashes = 0;
  readonly read: () => Promise<void>;
  readonly load: () => Promise<void>;
  private readonly sync: () => Promise<void>;
  private readonly unsynced = new Set<() => void>();
  private nextFailure: string | null = null;
  /** Commits find the disk full. */
  isFull = false;
  /** No space is left to open files either. */
  hasNoSpaceToOpen = false;

  constructor(options: MemoryDiskOptions = {}) {
    this.sync = options.sync ?? (() => Promise.resolve());
    this.read = options.read ?? (() => Promise.resolve());
    this.load = options.load ?? (() => Promise.resolve());
  }

  /** Starts an engine, which stands for a process that uses this disk. */
  engine(): DiskEngine {
    return new MemoryEngine(this);
  }

  /** Makes the next write to any file fail with this reason, be it a commit or another change; null cancels that. */
  failNextWrite(reason: string | null): void {
    this.nextFailure = reason;
  }

  /** Makes the file unreadable from the next open or load on. */
  damage(folder: string, file: number, reason: string): void {
    const stored = this.buckets.get(folder)?.files[file];
    if (stored === undefined) throw new Error(`there is no file ${file} in ${folder}`);
    stored.damage = reason;
  }

  /** Simulates a power failure: what was written and not synced is lost, or happened to reach the disk. */
  crash(unsynced: 'lost' | 'kept' = 'lost'): void {
    this.crashes++;
    if (unsynced === 'kept') for (const apply of this.unsynced) apply();
    this.unsynced.clear();
  }

  /** Applies a change once synced, unless a crash comes first. */
  async write(apply: () => void): Promise<void> {
    const { crashes, nextFailure } = this;
    this.nextFailure = null;
    if (nextFailure !== null) throw new Error(nextFailure);
    this.unsynced.add(apply);
    await this.sync();
    if (this.crashes !== crashes) throw new Error('the disk crashed');
    this.unsynced.delete(apply);
    apply();
  }
}

/** An open file; its writes are serial. */
interface Handle {
  stored: MemoryFile;
  path: string;
  failure: string | null;
  /** The last commit found the disk full. */
  isFull: boolean;
  /** Ends with the newest write: the next one waits for it. */
  lastWrite: Promise<void>;
}

interface OpenBucket {
  /** The disk had no space to open the files. */
  isIncomplete: boolean;
  files: BucketFiles;
  stored: StoredBucket;
  handles: Map<number, Handle>;
}

class MemoryEngine implements DiskEngine {
  private readonly disk: MemoryDisk;
  private readonly crashes: number;
  private readonly buckets = new Map<string, OpenBucket>();
  private isStopped = false;

  constructor(disk: MemoryDisk) {
    this.disk = disk;
    this.crashes = disk.crashes;
  }

  async open(files: BucketFiles): Promise<OpenResult> {
    this.throwIfStopped();
    const { bucketUuid } = files;
    if (this.buckets.get(bucketUuid)?.isIncomplete === false)
      throw new Error(`bucket ${bucketUuid} is open already`);
    const stored = this.disk.buckets.get(files.folder) ?? emptyBucket(files);
    const conflict = conflictOf(stored, files);
    const isIncomplete = this.disk.hasNoSpaceToOpen;
    const bucket = { files, stored, handles: new Map<number, Handle>(), isIncomplete };
    this.buckets.set(bucketUuid, bucket);
    if (isIncomplete) {
      const noSpace = { path: pathOf(files, 0), reason: 'no space left on device' };
      return { opened: [], damaged: [], noSpace };
    }
    if (conflict !== null) {
      const isLater = stored.incarnation > files.incarnation;
      const damaged = stored.files.map((_, file) => ({ ...damagedOf(files, file, conflict), isLater }));
      return { opened: [], damaged };
    }
    if (stored.incarnation < files.incarnation) Object.assign(stored, emptyBucket(files));
    this.disk.buckets.set(files.folder, stored);
    return openAll(bucket);
  }

  async load(
    bucketUuid: string,
    file: number,
    consume: (batch: CutBuffer) => void | Promise<void>,
    values: () => LoadedValues = () => 'all',
  ): Promise<void> {
    const handle = this.usable(bucketUuid, file);
    const { damage } = handle.stored;
    await this.disk.load();
    if (damage !== null) {
      handle.failure = damage;
      throw new DamagedFileError({ file, path: handle.path, reason: damage });
    }
    for (const batch of handle.stored.batches(values)) await consume(batch);
  }

  async largeItems(bucketUuid: string, file: number, after: number): Promise<LargeItems> {
    return this.readable(bucketUuid, file).stored.largeItems(after);
  }

  async commit(bucketUuid: string, file: number, cuts: CutBuffer): Promise<number> {
    const handle = this.usable(bucketUuid, file);
    const written = handle.lastWrite.then(() => this.write(handle, cuts));
    handle.lastWrite = written.catch(() => {});
    await written;
    return commitMs;
  }

  drop(bucketUuid: string, file: number, vbs: readonly number[]): Promise<void> {
    return this.change(bucketUuid, file, (stored) => {
      for (const vb of vbs) stored.drop(vb);
    });
  }

  rollBack(bucketUuid: string, file: number, cut: CutBuffer): Promise<boolean> {
    return this.change(bucketUuid, file, (stored) => stored.rollBack(cut));
  }

  /** Changes a file after the commits before it. */
  private async change<T>(bucketUuid: string, file: number, act: (stored: MemoryFile) => T): Promise<T> {
    const handle = this.usable(bucketUuid, file);
    let result: T | undefined;
    const changed = handle.lastWrite.then(() => {
      // The disk may have crashed while this change waited.
      this.throwIfStopped();
      return this.disk.write(() => {
        result = act(handle.stored);
      });
    });
    handle.lastWrite = changed.catch(() => {});
    await changed;
    return result as T;
  }

  async expiredKeys(bucketUuid: string, file: number, request: ExpiredKeysRequest): Promise<ExpiredKey[]> {
    return this.readable(bucketUuid, file).stored.expiredKeys(request);
  }

  async collectionKeys(
    bucketUuid: string,
    file: number,
    request: CollectionKeysRequest,
  ): Promise<DocumentKey[]> {
    const { stored } = this.readable(bucketUuid, file);
    await this.disk.read();
    this.throwIfStopped();
    return stored.collectionKeys(request);
  }

  async fetchItems(bucketUuid: string, file: number, keys: readonly DocumentKey[]): Promise<FetchedItems> {
    const { stored } = this.readable(bucketUuid, file);
    await this.disk.read();
    this.throwIfStopped();
    if (stored.damage !== null) throw new Error(stored.damage);
    return { batch: stored.fetchItems(keys), damaged: [] };
  }

  async backfill(
    bucketUuid: string,
    file: number,
    vb: number,
    afterSeqno: number,
    targetBytes?: number,
  ): Promise<BackfillPage> {
    const handle = this.readable(bucketUuid, file);
    const { damage } = handle.stored;
    if (damage !== null) throw new DamagedFileError({ file, path: handle.path, reason: damage });
    return handle.stored.backfill(vb, afterSeqno, targetBytes);
  }

  async reset(bucketUuid: string, incarnation: number): Promise<void> {
    this.throwIfStopped();
    const bucket = this.find(bucketUuid);
    bucket.files = { ...bucket.files, incarnation };
    await this.disk.write(() => {
      Object.assign(bucket.stored, emptyBucket(bucket.files));
      // The disk has not had the bucket yet where it had no space to open the files.
      this.disk.buckets.set(bucket.files.folder, bucket.stored);
    });
    openAll(bucket);
  }

  async sizes(bucketUuid: string): Promise<DiskSizes> {
    const bytes = this.find(bucketUuid).stored.files.reduce((sum, file) => sum + file.dataBytes(), 0);
    return { fileBytes: bytes, dataBytes: bytes, freeBytes: 0 };
  }

  /** There is no space to free here: only tombstones are dropped. */
  async compact(bucketUuid: string, file: number, options: CompactOptions): Promise<CompactResult> {
    const handle = this.usable(bucketUuid, file);
    const { stored } = handle;
    const bytesBefore = stored.dataBytes();
    options.signal?.throwIfAborted();
    let purged: PurgedVbucket[] = [];
    await this.disk.write(() => {
      purged = stored.purge(options.purgeBeforeSeconds);
    });
    options.progress?.(stored.itemCount(), stored.itemCount());
    return { bytesBefore, bytesAfter: stored.dataBytes(), purged };
  }

  async close(bucketUuid: string, clean = true, by?: string): Promise<void> {
    this.throwIfStopped();
    const { handles } = this.find(bucketUuid);
    this.buckets.delete(bucketUuid);
    for (const handle of handles.values()) {
      await handle.lastWrite;
      handle.stored.isClean = clean && handle.failure === null && !handle.isFull;
      handle.stored.closedBy = handle.stored.isClean ? (by ?? null) : null;
    }
  }

  async destroy(files: BucketFiles): Promise<void> {
    this.throwIfStopped();
    this.buckets.delete(files.bucketUuid);
    this.disk.buckets.delete(files.folder);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.buckets.clear();
  }

  private async write(handle: Handle, cuts: CutBuffer): Promise<void> {
    this.throwIfStopped();
    refuseAfterFailure(handle);
    if (this.disk.isFull) {
      handle.isFull = true;
      throw new DiskFullError(cuts, 'the disk is full');
    }
    try {
      await this.disk.write(() => handle.stored.apply(cuts));
      handle.isFull = false;
    } catch (error) {
      handle.failure = error instanceof Error ? error.message : String(error);
      throw error;
    }
  }

  private usable(bucketUuid: string, file: number): Handle {
    const handle = this.readable(bucketUuid, file);
    refuseAfterFailure(handle);
    return handle;
  }

  /** A file that takes no more commits can still be read. */
  private readable(bucketUuid: string, file: number): Handle {
    this.throwIfStopped();
    const handle = this.find(bucketUuid).handles.get(file);
    if (handle === undefined) throw new Error(`file ${file} of bucket ${bucketUuid} is not open`);
    return handle;
  }

  private find(bucketUuid: string): OpenBucket {
    const bucket = this.buckets.get(bucketUuid);
    if (bucket === undefined) throw new Error(`bucket ${bucketUuid} is not open`);
    return bucket;
  }

  private throwIfStopped(): void {
    if (this.isStopped || this.disk.crashes !== this.crashes) throw new Error('the disk engine is stopped');
  }
}

const emptyBucket = ({ bucketUuid, incarnation, fileCount }: BucketFiles): StoredBucket => ({
  bucketUuid,
  incarnation,
  files: Array.from({ length: fileCount }, () => new MemoryFile()),
});

function conflictOf(stored: StoredBucket, files: BucketFiles): string | null {
  if (stored.bucketUuid !== files.bucketUuid) return `it belongs to bucket ${stored.bucketUuid}`;
  if (stored.files.length !== files.fileCount) return `it has ${stored.files.length} files`;
  if (stored.incarnation > files.incarnation) return `it is of incarnation ${stored.incarnation}`;
  return null;
}

function openAll({ files, stored, handles }: OpenBucket): OpenResult {
  const result: OpenResult = { opened: [], damaged: [] };
  handles.clear();
  stored.files.forEach((data, file) => {
    if (data.damage !== null) {
      result.damaged.push(damagedOf(files, file, data.damage));
      return;
    }
    const path = pathOf(files, file);
    handles.set(file, { stored: data, path, failure: null, isFull: false, lastWrite: Promise.resolve() });
    result.opened.push({ file, clean: data.isClean, closedBy: data.closedBy, vbuckets: data.records() });
    data.isClean = false;
    data.closedBy = null;
  });
  return result;
}

const pathOf = (files: BucketFiles, file: number): string => `${files.folder}/${file}`;

const damagedOf = (files: BucketFiles, file: number, reason: string): DamagedFile => ({
  file,
  path: pathOf(files, file),
  reason,
});

function refuseAfterFailure({ failure, path }: Handle): void {
  if (failure !== null) throw new Error(`bucket file ${path} takes no more commits: ${failure}`);
}

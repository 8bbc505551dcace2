// The disk engine over SQLite files: opening a bucket assigns each of its files to a lane that writes, where it stays. The first
// of these lanes also manages the folders. Single documents and backfills of change streams are read in lanes of their own, started when they are
// needed.

import type { Clock } from '#ports/clock.ts';
import {
  addSizes,
  type BackfillPage,
  type BucketFiles,
  backfillPageBytes,
  type CollectionKeysRequest,
  type CompactOptions,
  type CompactResult,
  type CutBuffer,
  DamagedFileError,
  type DiskEngine,
  DiskFullError,
  type DiskSizes,
  type DiskThreads,
  type ExpiredKey,
  type ExpiredKeysRequest,
  type FetchedItems,
  type LargeItems,
  type LoadedValues,
  type OpenedFile,
  type OpenResult,
} from '../data/disk-engine.ts';
import { type DocumentKey, decodeKeys, encodeKeys } from '../data/document-keys.ts';
import type { DataFileSpec } from './adapters/file-format.ts';
import { firstPage } from './adapters/page-reader.ts';
import { BackfillCalls } from './backfill-calls.ts';
import { CommitQueue } from './commit-queue.ts';
import { CopyPace } from './copy-pace.ts';
import type { Lane } from './lane.ts';
import { Compactions } from './lane-compactions.ts';
import { type LaneLease, LanePool } from './lane-pool.ts';
import { LoggedCommits } from './logged-commits.ts';
import { SharedBlocks } from './shared-blocks.ts';

const noKey = Buffer.alloc(0);

export type LaneWork = 'write' | 'read' | 'copy';

export class LaneEngine implements DiskEngine {
  readonly cutMemory = new SharedBlocks();
  private readonly writers: LanePool;
  private readonly readers: LanePool;
  private readonly copiers: LanePool;
  private readonly compactions: Compactions;
  private readonly pace: CopyPace;
  private readonly buckets = new Map<string, BucketFiles>();
  /** By bucket for whose files the disk had no space, those of them that are open nevertheless. */
  private readonly incomplete = new Map<string, readonly OpenedFile[]>();
  /** By bucket, the lane of each file. */
  private readonly fileLanes = new Map<string, readonly LaneLease[]>();
  /** By bucket, its current files. */
  private readonly specs = new Map<string, readonly DataFileSpec[]>();
  /** Buckets of which reading lanes may have files open. */
  private readonly readFrom = new Set<string>();
  private readonly logged = new LoggedCommits((bucketUuid, file) =>
    this.laneOf(bucketUuid, file).call('writeLogged', bucketUuid, file),
  );
  private readonly queues = new WeakMap<Lane, CommitQueue>();
  private readonly backfills = new BackfillCalls((bucketUuid, file, requests) =>
    this.read(bucketUuid, file, (lane, spec) => lane.call('backfillPages', spec, requests)),
  );

  constructor(startLane: (work: LaneWork) => Lane, clock: Pick<Clock, 'monotonicMs' | 'sleep'>) {
    this.writers = new LanePool(() => startLane('write'), { keepsIdle: true, clock });
    this.readers = new LanePool(() => startLane('read'), { keepsIdle: true, clock });
    this.copiers = new LanePool(() => startLane('copy'), { keepsIdle: false, clock });
    this.pace = new CopyPace(clock);
    this.compactions = new Compactions(this.copiers, this.pace);
  }

  setThreads({ readers, writers, compactors }: DiskThreads): void {
    this.readers.resize(readers);
    this.writers.resize(writers);
    this.copiers.resize(compactors);
  }

  async open(files: BucketFiles): Promise<OpenResult> {
    const { bucketUuid, fileCount } = files;
    const before = this.incomplete.get(bucketUuid);
    if (this.buckets.has(bucketUuid) && !before) throw new Error(`bucket ${bucketUuid} is open already`);
    this.buckets.set(bucketUuid, files);
    if (!before)
      this.fileLanes.set(
        bucketUuid,
        Array.from({ length: fileCount }, () => this.writers.enter()),
      );
    try {
      return await this.openFiles(bucketUuid, await this.writers.first().call('prepare', files), before);
    } catch (error) {
      if (error instanceof DamagedFileError) return allDamaged(files, error);
      if (error instanceof DiskFullError) return this.noteNoSpace(files, error.message);
      this.buckets.delete(bucketUuid);
      this.incomplete.delete(bucketUuid);
      await this.leaveLanes(bucketUuid);
      throw error;
    }
  }

  /** Requests the next page while one is consumed: at most two are in memory. */
  async load(
    bucketUuid: string,
    file: number,
    consume: (batch: CutBuffer) => void | Promise<void>,
    values: () => LoadedValues = () => 'all',
  ): Promise<void> {
    const lane = this.laneOf(bucketUuid, file);
    let page = await lane.call('loadPage', bucketUuid, file, firstPage, values());
    for (;;) {
      const following = page.next && lane.call('loadPage', bucketUuid, file, page.next, values());
      // A rejection is handled below, unless `consume` throws first.
      following?.catch(() => {});
      if (page.batch.length > 0) await consume(page.batch);
      if (following === null) return;
      page = await following;
    }
  }

  async commit(bucketUuid: string, file: number, cuts: CutBuffer, isUrgent = false): Promise<number> {
    const lane = this.laneOf(bucketUuid, file);
    const isLogged = isUrgent && this.logged.admit(bucketUuid, file);
    return await this.pace.commit(() => lane.call('commit', bucketUuid, file, cuts, isLogged));
  }

  /** Cancels compactions first: their copies may have rows of the vbuckets. */
  async drop(bucketUuid: string, file: number, vbs: readonly number[]): Promise<void> {
    while (this.compactions.isRunning(bucketUuid)) await this.compactions.cancel(bucketUuid);
    await this.laneOf(bucketUuid, file).call('drop', bucketUuid, file, vbs);
  }

  /** Cancels compactions first, as `drop` does. */
  async rollBack(bucketUuid: string, file: number, cut: CutBuffer): Promise<boolean> {
    while (this.compactions.isRunning(bucketUuid)) await this.compactions.cancel(bucketUuid);
    return await this.laneOf(bucketUuid, file).call('rollBack', bucketUuid, file, cut);
  }

  async expiredKeys(bucketUuid: string, file: number, request: ExpiredKeysRequest): Promise<ExpiredKey[]> {
    const { after, ...limits } = request;
    const position = after && { expiry: after.expiry, encoded: encodeKeys([after]) };
    const { encoded, expiries } = await this.read(bucketUuid, file, (lane, spec) =>
      lane.call('expiredKeys', spec, { ...limits, after: position }),
    );
    return decodeKeys(encoded).map((key, at) => ({ ...key, expiry: expiries[at] as number }));
  }

  async collectionKeys(
    bucketUuid: string,
    file: number,
    request: CollectionKeysRequest,
  ): Promise<DocumentKey[]> {
    const { prefix, after, limit } = request;
    const encodedAfter = encodeKeys([after ?? { vb: 0, key: noKey }]);
    const found = await this.read(bucketUuid, file, (lane, spec) =>
      lane.call('collectionKeys', spec, prefix, encodedAfter, limit),
    );
    return decodeKeys(found);
  }

  async fetchItems(bucketUuid: string, file: number, keys: readonly DocumentKey[]): Promise<FetchedItems> {
    return await this.read(bucketUuid, file, (lane, spec) => lane.call('fetchItems', spec, encodeKeys(keys)));
  }

  async largeItems(bucketUuid: string, file: number, after: number): Promise<LargeItems> {
    return await this.read(bucketUuid, file, (lane, spec) => lane.call('largeItems', spec, after));
  }

  async backfill(
    bucketUuid: string,
    file: number,
    vb: number,
    afterSeqno: number,
    targetBytes = backfillPageBytes,
  ): Promise<BackfillPage> {
    return await this.backfills.page(bucketUuid, file, { vb, afterSeqno, targetBytes });
  }

  async reset(bucketUuid: string, incarnation: number): Promise<void> {
    const files = { ...this.filesOf(bucketUuid), incarnation };
    await this.compactions.cancel(bucketUuid);
    await this.closeReaders(bucketUuid);
    await this.eachLane(bucketUuid, (lane) => lane.call('close', bucketUuid, false));
    this.incomplete.delete(bucketUuid);
    const { damaged, noSpace } = await this.openFiles(
      bucketUuid,
      await this.writers.first().call('renew', files),
    );
    this.buckets.set(bucketUuid, files);
    if (damaged[0] !== undefined) throw new DamagedFileError(damaged[0]);
    if (noSpace !== undefined) throw new Error(`${noSpace.path}: ${noSpace.reason}`);
  }

  async sizes(bucketUuid: string): Promise<DiskSizes> {
    this.filesOf(bucketUuid);
    return addSizes(await this.eachLane(bucketUuid, (lane) => lane.call('sizes', bucketUuid)));
  }

  async compact(bucketUuid: string, file: number, options: CompactOptions): Promise<CompactResult> {
    this.filesOf(bucketUuid);
    return await this.compactions.run(this.laneOf(bucketUuid, file), bucketUuid, file, options, (spec) =>
      this.replaceSpec(bucketUuid, spec),
    );
  }

  async close(bucketUuid: string, clean = true, by?: string): Promise<void> {
    this.filesOf(bucketUuid);
    this.buckets.delete(bucketUuid);
    this.incomplete.delete(bucketUuid);
    await this.compactions.cancel(bucketUuid);
    try {
      await this.closeReaders(bucketUuid);
      await this.eachLane(bucketUuid, (lane) => lane.call('close', bucketUuid, clean, by));
    } finally {
      await this.leaveLanes(bucketUuid);
    }
  }

  async destroy(files: BucketFiles): Promise<void> {
    if (this.buckets.has(files.bucketUuid)) await this.close(files.bucketUuid, false);
    await this.writers.first().call('remove', files.folder);
  }

  async stop(): Promise<void> {
    const open = [...this.buckets.keys()];
    this.buckets.clear();
    this.incomplete.clear();
    this.specs.clear();
    await Promise.all(open.map((bucketUuid) => this.compactions.cancel(bucketUuid)));
    this.fileLanes.clear();
    await Promise.all([this.readers.stop(), this.copiers.stop()]);
    await this.writers.stop();
  }

  /** Opens the files of `specs`. The files in `before` are open already. */
  private async openFiles(
    bucketUuid: string,
    specs: readonly DataFileSpec[],
    before: readonly OpenedFile[] = [],
  ): Promise<OpenResult> {
    this.specs.set(bucketUuid, specs);
    const missing = specs.filter(({ file }) => !before.some((opened) => opened.file === file));
    const results = await this.eachLane(bucketUuid, (lane) =>
      lane.call(
        'open',
        missing.filter((spec) => this.laneOf(bucketUuid, spec.file) === lane),
      ),
    );
    const opened = [...before, ...results.flatMap((result) => result.opened)];
    const damaged = results.flatMap((result) => result.damaged).sort((a, b) => a.file - b.file);
    const noSpace = results.find((result) => result.noSpace !== undefined)?.noSpace;
    if (noSpace === undefined) this.incomplete.delete(bucketUuid);
    else this.incomplete.set(bucketUuid, opened);
    return { opened: opened.sort((a, b) => a.file - b.file), damaged, ...(noSpace && { noSpace }) };
  }

  /** Notes that the disk had no space for the files of a bucket that is new, or was flushed while it was not open. */
  private noteNoSpace({ bucketUuid, folder }: BucketFiles, reason: string): OpenResult {
    const opened = this.incomplete.get(bucketUuid) ?? [];
    this.incomplete.set(bucketUuid, opened);
    return { opened: [...opened], damaged: [], noSpace: { path: folder, reason } };
  }

  /**
   * From here on reads open the new file. Running reads may still use the old one, which is unlinked but open: no commit to the new file was
   * acknowledged before they began.
   */
  private replaceSpec(bucketUuid: string, spec: DataFileSpec): void {
    const specs = this.specs.get(bucketUuid);
    if (!specs) return;
    this.specs.set(
      bucketUuid,
      specs.map((old) => (old.file === spec.file ? spec : old)),
    );
    if (!this.readFrom.has(bucketUuid)) return;
    for (const lane of this.readers.lanes) lane.call('closeReaders', bucketUuid).catch(() => {});
  }

  /**
   * Runs a read in a reading lane; repeats it when the file was replaced before the lane had opened it. On a full disk only the file's own lane has its
   * last commits.
   */
  private async read<T>(
    bucketUuid: string,
    file: number,
    act: (lane: Lane, spec: DataFileSpec) => Promise<T>,
  ): Promise<T> {
    try {
      await this.logged.writeIntoRows(bucketUuid, file);
    } catch (error) {
      if (!(error instanceof DiskFullError)) throw error;
      return await act(this.laneOf(bucketUuid, file), this.specToRead(bucketUuid, file));
    }
    const spec = this.specToRead(bucketUuid, file);
    try {
      return await this.readers.use((lane) => act(lane, spec));
    } catch (error) {
      const present = this.specToRead(bucketUuid, file);
      if (present === spec) throw error;
      return await this.readers.use((lane) => act(lane, present));
    }
  }

  async delayCheckpoints(bucketUuid: string, isDelayed: boolean): Promise<void> {
    await this.eachLane(bucketUuid, (lane) => lane.call('delayCheckpoints', bucketUuid, isDelayed));
  }

  async endUrgent(bucketUuid: string, file: number): Promise<void> {
    await this.laneOf(bucketUuid, file).call('releaseLog', bucketUuid, file);
  }

  async queueUrgent(bucketUuid: string, file: number): Promise<() => void> {
    const lane = this.fileLanes.get(bucketUuid)?.[file]?.lane;
    // The commit itself says that the bucket is not open.
    if (lane === undefined) return () => {};
    const queue = this.queues.get(lane) ?? new CommitQueue();
    this.queues.set(lane, queue);
    return await queue.next();
  }

  private specToRead(bucketUuid: string, file: number): DataFileSpec {
    const spec = this.specs.get(bucketUuid)?.find((candidate) => candidate.file === file);
    if (spec === undefined) throw new Error(`bucket ${bucketUuid} is not open`);
    this.readFrom.add(bucketUuid);
    return spec;
  }

  /** Called before a bucket's files are replaced or closed. Later fetches fail. */
  private async closeReaders(bucketUuid: string): Promise<void> {
    this.specs.delete(bucketUuid);
    for (const file of this.fileLanesOf(bucketUuid).keys()) this.logged.forget(bucketUuid, file);
    if (!this.readFrom.delete(bucketUuid)) return;
    await Promise.all(this.readers.lanes.map((lane) => closeReadersIn(lane, bucketUuid)));
  }

  /** Waits for all of the bucket's lanes even when one rejects, so that no call is still running afterwards. */
  private async eachLane<T>(bucketUuid: string, act: (lane: Lane) => Promise<T>): Promise<T[]> {
    const lanes = new Set(this.fileLanesOf(bucketUuid).map(({ lane }) => lane));
    const results = await Promise.allSettled([...lanes].map(act));
    return results.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  }

  private laneOf(bucketUuid: string, file: number): Lane {
    const lease = this.fileLanesOf(bucketUuid)[file];
    if (lease === undefined) throw new Error(`bucket ${bucketUuid} has no file ${file}`);
    return lease.lane;
  }

  private fileLanesOf(bucketUuid: string): readonly LaneLease[] {
    const fileLanes = this.fileLanes.get(bucketUuid);
    if (fileLanes === undefined) throw new Error(`bucket ${bucketUuid} is not open`);
    return fileLanes;
  }

  private async leaveLanes(bucketUuid: string): Promise<void> {
    const fileLanes = this.fileLanes.get(bucketUuid) ?? [];
    this.fileLanes.delete(bucketUuid);
    await Promise.all(fileLanes.map((lease) => this.writers.leave(lease)));
  }

  private filesOf(bucketUuid: string): BucketFiles {
    const files = this.buckets.get(bucketUuid);
    if (files === undefined) throw new Error(`bucket ${bucketUuid} is not open`);
    return files;
  }
}

/** A thread that ends meanwhile has closed its connections too. */
async function closeReadersIn(lane: Lane, bucketUuid: string): Promise<void> {
  try {
    await lane.call('closeReaders', bucketUuid);
  } catch (error) {
    if (!lane.hasEnded) throw error;
  }
}

function allDamaged(files: BucketFiles, { isLater, path, reason }: DamagedFileError): OpenResult {
  const numbers = Array.from({ length: files.fileCount }, (_, file) => file);
  return { opened: [], damaged: numbers.map((file) => ({ file, path, reason, isLater })) };
}

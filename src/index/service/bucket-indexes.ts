// The built and building indexes of one bucket. New ones build over a separate connection, so that the others are updated
// meanwhile; once complete they join the others' group, so that the data service sends each change once for all of them.
import { createHash } from 'node:crypto';
import type { ClusterRoutes } from '#client/cluster-routes.ts';
import type { WireAccount, WireAddress } from '#client/wire-address.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import type { CompiledDefinition } from '../entries/compiled-definition.ts';
import { FollowedIndex } from '../follow/followed-index.ts';
import { IndexGroup } from '../follow/index-group.ts';
import type { IndexReport, IndexState } from '../index.contract.ts';
import { type IndexProgress, noScans } from '../index-progress.ts';
import type { FileIdentity, IndexFile, IndexStore } from '../store/index-store.ts';
import { isShortage } from '../store/shortages.ts';
import type { MemoryShares } from './memory-shares.ts';

export interface BucketIndexesOptions {
  readonly address: WireAddress;
  readonly account: WireAccount;
  readonly bucket: { readonly name: string; readonly uuid: string };
  readonly routes: () => ClusterRoutes | null;
  readonly store: IndexStore;
  readonly compile: (definition: IndexDefinition) => CompiledDefinition;
  readonly shares: () => MemoryShares;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called when the reports have changed. */
  readonly changed: () => void;
}

/** The delay of regrouping, so that several changes cause one. */
const regroupMs = 1_000;
/** The pause between two pages of the comparison of a large file's tables: with 1,000 rows a page, at most 50,000 rows a second of all files together. */
const compareMs = 20;

export class BucketIndexes {
  private readonly options: BucketIndexesOptions;
  private readonly members = new Map<string, FollowedIndex>();
  private groups: IndexGroup[] = [];
  /** By index id: why its file could not be opened. */
  private readonly failures = new Map<string, string>();
  private wanted: readonly IndexDefinition[] = [];
  private work: Promise<void> = Promise.resolve();
  private isWorkDue = false;
  /** By index id: the generation of its open file. */
  private readonly generations = new Map<string, number>();
  /** Begins at random, so that readers tell a file apart from its replacement by the thread that follows after a crash. */
  private lastGeneration: number;
  /** Shared memory of indexes whose file is replaced: readers keep using it. */
  private readonly progressOfReplaced = new Map<string, IndexProgress>();
  /** Ids of indexes whose file the next reconciliation replaces. */
  private readonly damaged = new Set<string>();
  /** Groups that the next reconciliation replaces. */
  private broken = new Set<IndexGroup>();
  private regroupTimer: Timer | null = null;
  private compareTimer: Timer | null = null;
  /** Indexes whose file may have rows that are not compared yet; the one that waits longest is first. */
  private readonly uncompared = new Set<FollowedIndex>();
  private isStopped = false;

  constructor(options: BucketIndexesOptions) {
    this.options = options;
    this.lastGeneration = options.random.bytes(6).readUIntBE(0, 6);
  }

  /** Sets the indexes to build and keep. */
  setIndexes(definitions: readonly IndexDefinition[]): Promise<void> {
    this.wanted = definitions;
    return this.reconcile();
  }

  /** Whether there are indexes to build or keep. */
  get isWanted(): boolean {
    return this.wanted.length > 0;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.regroupTimer?.cancel();
    this.compareTimer?.cancel();
    await this.work;
    for (const group of this.groups) await group.stop();
    this.removeUnwanted();
    for (const [id, index] of [...this.members]) this.close(id, index);
    this.groups = [];
  }

  /** Removes the files of indexes that were dropped just before the stop: writing the last positions of hundreds takes seconds. */
  private removeUnwanted(): void {
    const wantedIds = new Set(this.wanted.map(({ id }) => id));
    for (const [id, index] of [...this.members].filter(([member]) => !wantedIds.has(member))) {
      try {
        this.remove(id, index);
      } catch (error) {
        // The next start removes the file.
        this.options.log.debug('index.close_failed', { index: id, reason: (error as Error).message });
        this.close(id, index, index.file);
      }
    }
  }

  /** Applies the memory shares after other indexes were added or removed. */
  limitCaches(): void {
    const { cacheBytes } = this.options.shares();
    for (const { file } of this.members.values()) file.limitCache(cacheBytes);
  }

  /** Replaces the file of an index that a reader found unusable. */
  replaceFile(id: string): Promise<void> {
    if (this.members.has(id)) this.damaged.add(id);
    return this.reconcile();
  }

  /** Replaces all streams: the node joined others, or is alone again. */
  reconnect(): Promise<void> {
    for (const group of this.groups) this.broken.add(group);
    return this.reconcile();
  }

  report(): IndexReport[] {
    return this.wanted.map((definition) => this.reportOf(definition));
  }

  /** Counted without reports, which read the sizes of all files: this is called whenever a file is opened. */
  get onlineCount(): number {
    return [...this.members].filter(([id, index]) => this.stateOf(id, index) === 'online').length;
  }

  private stateOf(id: string, index: FollowedIndex | undefined): IndexState {
    if (index === undefined) return this.failures.has(id) ? 'offline' : 'building';
    return index.isBuilt && !this.damaged.has(id) ? 'online' : 'building';
  }

  private reportOf({ id }: IndexDefinition): IndexReport {
    const index = this.members.get(id);
    const failure = this.failures.get(id) ?? this.groupOf(index)?.problem ?? undefined;
    return {
      id,
      state: this.stateOf(id, index),
      progress: Math.floor(100 * (index?.buildProgress ?? 0)),
      ...messageOf(failure, index?.leftOut ?? 0),
      documentsProcessed: index?.changes ?? 0,
      documentsWaiting: index?.uncommitted ?? 0,
      leftOut: index?.leftOut ?? 0,
      fileBytes: index?.file.bytes() ?? 0,
      generation: this.generations.get(id) ?? 0,
      ...(index?.progress.figures() ?? noScans),
      ...(index !== undefined && { shared: index.progress.buffer }),
    };
  }

  /** Runs one reconciliation at a time; requests during one are part of the next. */
  private reconcile(): Promise<void> {
    this.isWorkDue = true;
    this.work = this.work.then(async () => {
      if (!this.isWorkDue || this.isStopped) return;
      this.isWorkDue = false;
      await this.reconcileNow();
    });
    return this.work;
  }

  private async reconcileNow(): Promise<void> {
    const wantedIds = new Set(this.wanted.map(({ id }) => id));
    const gone = new Map([...this.members].filter(([id]) => !wantedIds.has(id) || this.damaged.has(id)));
    // Indexes that become damaged or unwanted while groups stop belong to the next reconciliation.
    await this.stopGroups(new Set(gone.values()));
    for (const [id, index] of gone) {
      if (wantedIds.has(id)) index.progress.setComplete(false);
      else index.progress.markDropped();
      this.remove(id, index);
      this.damaged.delete(id);
    }
    for (const definition of this.wanted) this.open(definition);
    this.startGroups();
    this.compareLater();
    this.options.changed();
  }

  /** Files that are too large to be compared when they are opened are compared while they are used, one page at a time, the files in turns. */
  private compareLater(): void {
    if (this.uncompared.size === 0) return;
    this.compareTimer ??= this.options.clock.after(compareMs, () => {
      this.compareTimer = null;
      if (this.isStopped) return;
      this.compareNext();
      this.compareLater();
    });
  }

  /** Compares a page of one file only, since the indexes follow no changes meanwhile. */
  private compareNext(): void {
    const [index] = this.uncompared;
    if (index === undefined) return;
    this.uncompared.delete(index);
    if (this.compareMore(index)) this.uncompared.add(index);
  }

  private compareMore({ definition: { id }, file }: FollowedIndex): boolean {
    if (this.damaged.has(id)) return false;
    try {
      return file.compareMore();
    } catch (error) {
      if (isShortage(error)) return true; // the same page is read again later
      this.options.log.warn('index.file_damaged', { index: id, reason: (error as Error).message });
      void this.replaceFile(id);
      return false;
    }
  }

  /** Stops groups with a removed member, or all groups if complete indexes must join one group. */
  private async stopGroups(gone: ReadonlySet<FollowedIndex>): Promise<void> {
    const complete = this.groups.filter((group) => group.indexes.every(({ isBuilt }) => isBuilt));
    const ending = this.groups.filter(
      (group) =>
        this.broken.has(group) ||
        group.indexes.some((index) => gone.has(index)) ||
        (complete.length > 1 && complete.includes(group)),
    );
    this.broken.clear();
    for (const group of ending) await group.stop();
    this.groups = this.groups.filter((group) => !ending.includes(group));
  }

  /** Starts one group for the built indexes and one for the new ones. */
  private startGroups(): void {
    const grouped = new Set(this.groups.flatMap((group) => group.indexes));
    const free = [...this.members.values()].filter((index) => !grouped.has(index));
    for (const indexes of [free.filter(isBuilt), free.filter((index) => !isBuilt(index))]) {
      if (indexes.length > 0) this.startGroup(indexes);
    }
  }

  private startGroup(indexes: readonly FollowedIndex[]): void {
    const { bucket, random } = this.options;
    const group: IndexGroup = new IndexGroup({
      ...this.options,
      bucket: bucket.name,
      routes: this.options.routes(),
      name: `index:${random.uuid()}`,
      indexes,
      changed: () => this.groupChanged(),
      broken: (index, reason) => this.regroup(group, index, reason),
    });
    this.groups.push(group);
    group.start();
  }

  /** Called when a build may be complete and its group can join the others. */
  private groupChanged(): void {
    this.options.changed();
    const complete = this.groups.filter((group) => group.indexes.every(isBuilt));
    if (complete.length > 1) this.regroupSoon();
  }

  private regroup(group: IndexGroup, index: FollowedIndex | null, reason: Error): void {
    const { log, bucket } = this.options;
    log.info('index.regrouped', { bucket: bucket.name, reason: reason.message });
    this.broken.add(group);
    if (index !== null) this.damaged.add(index.definition.id);
    this.regroupSoon();
  }

  private regroupSoon(): void {
    if (this.isStopped) return;
    this.regroupTimer ??= this.options.clock.after(regroupMs, () => {
      this.regroupTimer = null;
      void this.reconcile();
    });
  }

  private open(definition: IndexDefinition): void {
    const { id } = definition;
    if (this.members.has(id)) return;
    let file: IndexFile | null = null;
    try {
      const compiled = this.options.compile(definition);
      file = this.options.store.open(this.identityOf(definition));
      this.generations.set(id, ++this.lastGeneration);
      const progress = this.progressOfReplaced.get(id);
      const { stageBytes: stageBytesMax, cacheBytes } = this.options.shares();
      file.limitCache(cacheBytes);
      const index = new FollowedIndex({
        definition,
        compiled,
        file,
        stageBytesMax,
        ...(progress && { progress }),
      });
      this.members.set(id, index);
      this.uncompared.add(index);
      this.failures.delete(id);
    } catch (error) {
      file?.close();
      const reason = (error as Error).message;
      if (this.failures.get(id) !== reason)
        this.options.log.error('index.open_failed', { index: id, reason });
      this.failures.set(id, reason);
      this.regroupSoon();
    }
  }

  /** SQLite writes the log of a file into it, and waits for the disk, when it closes a file that still has a name. */
  private remove(id: string, index: FollowedIndex): void {
    this.options.store.remove(this.options.bucket.uuid, id);
    this.close(id, index, index.file);
  }

  /** Closes the index with its last positions, or only the file of one that was removed. */
  private close(id: string, index: FollowedIndex, closed: { close(): void } = index): void {
    if (this.damaged.has(id)) this.progressOfReplaced.set(id, index.progress);
    else this.progressOfReplaced.delete(id);
    this.members.delete(id);
    this.uncompared.delete(index);
    try {
      closed.close();
    } catch (error) {
      this.options.log.debug('index.close_failed', { index: id, reason: (error as Error).message });
    }
  }

  private identityOf(definition: IndexDefinition): FileIdentity {
    return {
      indexId: definition.id,
      bucketUuid: this.options.bucket.uuid,
      collectionId: definition.keyspace.collectionId,
      isPrimary: definition.isPrimary,
      fingerprint: fingerprintOf(definition),
    };
  }

  private groupOf(index: FollowedIndex | undefined): IndexGroup | undefined {
    return index && this.groups.find((group) => group.indexes.includes(index));
  }
}

const isBuilt = (index: FollowedIndex): boolean => index.isBuilt;

function messageOf(failure: string | undefined, leftOut: number): { message?: string } {
  if (failure !== undefined) return { message: failure };
  if (leftOut === 0) return {};
  const changes = leftOut === 1 ? 'change has left its document' : 'changes have left their documents';
  return { message: `since the start, ${leftOut} ${changes} out: keys above the limits` };
}

/** Raised when the language evaluates an expression differently than before, or the key format changes. */
const languageVersion = 2;

/** The hash of the parts of a definition that determine rows: an index file with another fingerprint is rebuilt. */
function fingerprintOf({ isPrimary, keys, condition }: IndexDefinition): string {
  const text = JSON.stringify([languageVersion, isPrimary, keys, condition ?? null]);
  return createHash('sha256').update(text).digest('hex');
}

// Indexes of one bucket that share one connection with a stream per vbucket. All get the same changes; each skips what it
// has. The group commits when the stream pauses or after a few milliseconds: an idle index is current at once, a busy one
// commits many changes together.
import { BucketClient } from '#client/bucket-client.ts';
import type { Change, CollectionEvent } from '#client/change.ts';
import type { FailoverEntry, StreamPosition } from '#client/change-connection.ts';
import { type BucketFollower, ChangeFollower, type FollowerHandler } from '#client/change-follower.ts';
import { ClusterBucketClient } from '#client/cluster-bucket-client.ts';
import { ClusterFollower } from '#client/cluster-follower.ts';
import type { ClusterRoutes } from '#client/cluster-routes.ts';
import { vbucketCount } from '#client/document-key.ts';
import type { WireAccount, WireAddress } from '#client/wire-address.ts';
import { type Clock, nextTurn, type Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { untilAborted } from '#ports/within.ts';
import type { FollowedIndex } from './followed-index.ts';

export interface GroupOptions {
  readonly address: WireAddress;
  readonly account: WireAccount;
  readonly bucket: string;
  /** Which nodes have the bucket's vbuckets; null while this node is the only one. */
  readonly routes: ClusterRoutes | null;
  /** The name of the connection. */
  readonly name: string;
  readonly indexes: readonly FollowedIndex[];
  readonly clock: Clock;
  readonly log: Log;
  /** Called when an index became complete or incomplete, or when its commits fail or succeed again. */
  readonly changed: () => void;
  /** Called when the group must be replaced: an index needs earlier changes (null), or its file is damaged. */
  readonly broken: (index: FollowedIndex | null, reason: Error) => void;
}

const everyVbucket = Array.from({ length: vbucketCount }, (_, vb) => vb);
/** The interval between commits of a busy stream is the duration of the last commit, within these limits. */
const commitEveryMs = { least: 2, most: 50 } as const;
/** Fewer changes always wait for the shortest interval only: if a commit of so few took long, waiting longer would not make the next one shorter. */
const busyChanges = 64;
/** Changes after which the group commits at once. */
const changesMax = 4_096;
const retryPauseMs = 1_000;
/** The longest time for which a group processes changes in one turn of the event loop: then other groups have the thread. */
const sliceMs = 10;
const damageCodes: ReadonlySet<unknown> = new Set([11, 26]); // SQLITE_CORRUPT, SQLITE_NOTADB

export class IndexGroup implements FollowerHandler {
  readonly indexes: readonly FollowedIndex[];
  private readonly options: GroupOptions;
  private readonly follower: BucketFollower;
  private readonly stopped = new AbortController();
  private commitTimer: Timer | null = null;
  private retryTimer: Timer | null = null;
  private lastCommitMs = Number.NEGATIVE_INFINITY;
  private commitTookMs = 0;
  /** The vbuckets whose rows each index must remove. */
  private readonly rolledBack = new Map<FollowedIndex, Set<number>>();
  /** The removal of the rows of `rolledBack` that is running. */
  private removal: Promise<void> | null = null;
  /** The request for the target seqnos of builds that is running. */
  private targets: Promise<void> | null = null;
  /** Incremented when a vbucket gets another history: seqnos requested before are invalid. */
  private histories = 0;
  /** Why an index cannot commit; null: all can. */
  problem: string | null = null;
  /** When this turn of the event loop began to process changes; null: it has not. */
  private sliceStartMs: number | null = null;
  private isSliceOver = false;

  constructor(options: GroupOptions) {
    const { indexes, address, account, bucket, name, clock, routes } = options;
    this.options = options;
    this.indexes = indexes;
    const following = {
      address,
      account,
      bucket,
      name,
      clock,
      collections: [...new Set(indexes.map(({ collectionId }) => collectionId))],
      withXattrs: true,
      // An index that has rows needs the deletions of their documents, even if the stream begins at seqno 0 for another index.
      documentsOnly: indexes.every(({ hasChanges }) => !hasChanges),
      handler: this,
    };
    this.follower =
      routes === null
        ? new ChangeFollower({ ...following, vbuckets: everyVbucket })
        : new ClusterFollower({ ...following, routes });
  }

  start(): void {
    this.follower.start();
    this.requestTargets();
  }

  /** Discards uncommitted changes: the next group receives them again. */
  async stop(): Promise<void> {
    this.stopped.abort(new Error('the index group stops'));
    this.commitTimer?.cancel();
    this.retryTimer?.cancel();
    await this.follower.stop();
    await this.targets;
  }

  /** The lowest position of the group's indexes. */
  positionOf(vb: number): StreamPosition {
    let least = this.indexes[0] as FollowedIndex;
    for (const index of this.indexes) if (index.seqno(vb) < least.seqno(vb)) least = index;
    return least.positionOf(vb);
  }

  opened(vb: number, log: readonly FailoverEntry[]): void {
    const uuid = log[0]?.uuid ?? 0n;
    const diverged = this.indexes.filter((index) => !index.isWithin(vb, log));
    if (diverged.length > 0) {
      // The stream was requested from another index's position. The server's history differs after the last change of these indexes.
      this.histories++;
      // The others must not count changes of this history as changes of the one that they had: the next group's stream tells them which it is.
      for (const index of this.indexes) index.markUnconfirmed(vb);
      void this.removeRows(vb, diverged);
      this.options.broken(null, new Error(`vbucket ${vb} has another history`));
      return;
    }
    for (const index of this.indexes) if (index.opened(vb, uuid)) this.histories++;
  }

  snapshot(vb: number, start: number, end: number): void {
    for (const index of this.indexes) index.snapshot(vb, start, end);
  }

  change(change: Change): void {
    const { clock } = this.options;
    this.sliceStartMs ??= clock.monotonicMs();
    for (const index of this.indexes) index.change(change);
    if (!this.isSliceOver && clock.monotonicMs() - this.sliceStartMs >= sliceMs) this.endSlice();
  }

  /** Lets the thread's other groups process changes, which wait behind those of keys that take long to evaluate. */
  private endSlice(): void {
    this.isSliceOver = true;
    this.follower.pause();
    this.options.clock.soon(() => {
      this.isSliceOver = false;
      this.sliceStartMs = null;
      if (this.problem === null) this.follower.resume();
    });
  }

  advanced(vb: number, seqno: number): void {
    for (const index of this.indexes) index.move(vb, seqno);
  }

  event({ vb, seqno }: CollectionEvent): void {
    this.advanced(vb, seqno);
  }

  /** The collection was dropped, and the cluster manager removes the index; or it does not exist yet, and `broken` makes BucketIndexes start another group. */
  ended(vb: number): void {
    if (!this.stopped.signal.aborted)
      this.options.broken(null, new Error(`the stream of vbucket ${vb} ended`));
  }

  lost(reason: Error, vbuckets: readonly number[]): void {
    for (const index of this.indexes) for (const vb of vbuckets) index.markUnconfirmed(vb);
    this.options.log.debug('index.stream_lost', { bucket: this.options.bucket, reason: reason.message });
    this.requestTargets();
  }

  rollback(vb: number, seqno: number): Promise<void> {
    this.histories++;
    for (const index of this.indexes) index.markUnconfirmed(vb);
    const hasLostChanges = this.indexes.some((index) => index.seqno(vb) > seqno);
    return this.removeRows(vb, hasLostChanges ? this.indexes : []);
  }

  /**
   * Removes the rows of vbuckets whose history differs from that of the indexes: together for all that are reported in one turn of the event
   * loop, since a removal scans the whole index.
   */
  private removeRows(vb: number, indexes: readonly FollowedIndex[]): Promise<void> {
    for (const index of indexes) {
      // Until the stream is opened again the index gets no changes: those of this stream come after the removed ones.
      index.markUnconfirmed(vb);
      const vbuckets = this.rolledBack.get(index) ?? new Set();
      this.rolledBack.set(index, vbuckets.add(vb));
    }
    this.removal ??= this.removeRolledBack().finally(() => {
      this.removal = null;
    });
    return this.removal;
  }

  drained(): void {
    const { clock } = this.options;
    this.sliceStartMs = null;
    for (const index of this.indexes) {
      this.tryWrite(index, () => index.stage());
      index.publish();
    }
    this.requestTargets();
    if (this.commitTimer !== null || this.problem !== null) return;
    if (!this.indexes.some((index) => index.isCommitDue)) return;
    const uncommitted = this.indexes.reduce((most, index) => Math.max(most, index.uncommitted), 0);
    const { least, most } = commitEveryMs;
    const pauseMs = uncommitted < busyChanges ? least : Math.min(Math.max(least, this.commitTookMs), most);
    const dueInMs = this.lastCommitMs + pauseMs - clock.monotonicMs();
    if (dueInMs <= 0 || uncommitted >= changesMax) this.commit();
    else
      this.commitTimer = clock.after(dueInMs, () => {
        this.commitTimer = null;
        this.commit();
      });
  }

  private commit(): void {
    const { clock, changed } = this.options;
    const startedMs = clock.monotonicMs();
    let isCompleted = false;
    for (const index of this.indexes) {
      if (!index.isCommitDue) continue;
      const wasBuilt = index.isBuilt;
      this.tryWrite(index, () => index.commit());
      isCompleted ||= index.isBuilt && !wasBuilt;
    }
    this.lastCommitMs = clock.monotonicMs();
    this.commitTookMs = this.lastCommitMs - startedMs;
    if (isCompleted) changed();
  }

  private async removeRolledBack(): Promise<void> {
    const { clock, log, bucket, changed } = this.options;
    const { signal } = this.stopped;
    await nextTurn(clock);
    while (this.rolledBack.size > 0 && !signal.aborted) {
      const rolledBack = [...this.rolledBack];
      this.rolledBack.clear();
      const vbuckets = new Set(rolledBack.flatMap(([, some]) => [...some]));
      log.info('index.rolled_back', { bucket, vbuckets: vbuckets.size });
      const failed = rolledBack.filter(([index, some]) => !this.tryWrite(index, () => index.discard(some)));
      changed();
      if (failed.length === 0) continue;
      for (const [index, some] of failed)
        this.rolledBack.set(index, new Set([...some, ...(this.rolledBack.get(index) ?? [])]));
      await clock.sleep(retryPauseMs, signal).catch(() => {}); // a stop ends the loop
    }
    this.requestTargets();
  }

  /** A build is complete once it has all changes that existed when it began. */
  private requestTargets(): void {
    if (this.targets !== null || this.stopped.signal.aborted) return;
    if (!this.indexes.some((index) => index.needsTarget)) return;
    this.targets = this.readTargets().finally(() => {
      this.targets = null;
      if (this.indexes.some((index) => index.needsTarget)) this.retry();
    });
  }

  private async readTargets(): Promise<void> {
    try {
      await this.withClient(async (client) => {
        for (const index of this.indexes) {
          if (!index.needsTarget) continue;
          const { histories } = this;
          const seqnos = await client.highSeqnos(index.collectionId);
          if (index.needsTarget && histories === this.histories) index.buildUntil(seqnos);
        }
      });
      if (!this.stopped.signal.aborted) this.drained();
    } catch (error) {
      const { log, bucket } = this.options;
      log.debug('index.target_unknown', { bucket, reason: (error as Error).message });
    }
  }

  private async withClient<T>(ask: (client: BucketClient) => Promise<T>): Promise<T> {
    const { routes } = this.options;
    const { signal } = this.stopped;
    const opening =
      routes === null
        ? BucketClient.open(this.options)
        : ClusterBucketClient.openAll({ ...this.options, routes });
    // A data port that does not answer must not delay the removal of an index.
    const client: BucketClient = await untilAborted(signal, opening, (late) => late.close());
    const close = (): void => client.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      return await ask(client);
    } finally {
      signal.removeEventListener('abort', close);
      client.close();
    }
  }

  /** Runs `act` and returns whether it succeeded. After a failed write the changes are kept and retried; `broken` reports a damaged file. */
  private tryWrite(index: FollowedIndex, act: () => void): boolean {
    try {
      act();
      return true;
    } catch (error) {
      const { errcode, message } = error as Error & { errcode?: number };
      if (errcode !== undefined && damageCodes.has(errcode & 0xff))
        this.options.broken(index, error as Error);
      else this.reportFailure(index, message);
      return false;
    }
  }

  private reportFailure(index: FollowedIndex, problem: string): void {
    this.options.log.warn('index.write_failed', { index: index.definition.id, reason: problem });
    this.problem = problem;
    this.follower.pause();
    this.options.changed();
    this.retry();
  }

  private retry(): void {
    if (this.retryTimer !== null || this.stopped.signal.aborted) return;
    this.retryTimer = this.options.clock.after(retryPauseMs, () => {
      this.retryTimer = null;
      this.requestTargets();
      if (this.problem !== null) this.resumeAfterFailure();
    });
  }

  private resumeAfterFailure(): void {
    this.problem = null;
    this.commit();
    if (this.problem !== null) return;
    this.follower.resume();
    this.options.changed();
  }
}

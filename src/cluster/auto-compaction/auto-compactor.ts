// Schedules compactions of buckets: checks how much space they would release, and starts and cancels them by the settings of the
// cluster and of each bucket. All buckets share one disk, so one is compacted at a time unless its settings allow
// parallel compaction.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type {
  BucketAutoCompaction,
  BucketMap,
  ClusterAutoCompaction,
  StoredBucket,
} from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService, MeasuredBucket } from '../config/data-service.ts';
import { shardMembers } from '../topology/promoted-shard.ts';
import { CompactionAttempts } from './compaction-attempts.ts';
import { type CompactionDecision, decideCompaction, type TimeOfDay } from './compaction-decision.ts';
import { clusterCompaction, purgeBeforeSeconds } from './settings.ts';

/** The agent collects figures every ten seconds; a running compaction is checked more often. */
export const checkEveryMs = { idle: 10_000, busy: 1_000 };
/** How often an ephemeral bucket purges tombstones: twice per purge interval, within these bounds. */
const purgeEveryMs = { min: 30_000, max: 3_600_000 };
/** The longest wait for a rebalance, during which the files of the bucket may grow. */
const waitForMovesMsMax = 600_000;
const dayMs = 86_400_000;
const mib = 1024 * 1024;

export interface AutoCompactorDeps {
  view: ClusterView;
  data: Pick<DataService, 'refresh' | 'measured' | 'compact' | 'cancelCompaction'>;
  clock: Clock;
  /** Local wall clock time. */
  timeOfDay: (wallMs: number) => TimeOfDay;
  log: Log;
}

type Rules = BucketAutoCompaction | ClusterAutoCompaction;

export class AutoCompactor {
  readonly #deps: AutoCompactorDeps;
  readonly #attempts: CompactionAttempts;
  readonly #purgedAtMs = new Map<string, number>();
  /** By bucket: since when it waits for a rebalance. */
  readonly #waitsSinceMs = new Map<string, number>();
  #timer: Timer | null = null;
  #isStopped = false;

  constructor(deps: AutoCompactorDeps) {
    this.#deps = deps;
    this.#attempts = new CompactionAttempts(deps.clock);
  }

  start(): void {
    this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    const delayMs = this.#attempts.anyRunning ? checkEveryMs.busy : checkEveryMs.idle;
    this.#timer = this.#deps.clock.after(
      delayMs,
      () => void this.#checkBuckets().finally(() => this.#schedule()),
    );
  }

  async #checkBuckets(): Promise<void> {
    const { view, data, log } = this.#deps;
    try {
      if (this.#attempts.anyRunning) await data.refresh();
      const buckets = view.liveBuckets();
      this.#discardDeleted(buckets);
      for (const bucket of buckets) await this.#checkBucket(bucket);
    } catch (error) {
      log.warn('auto_compaction.failed', { reason: (error as Error).message });
    }
  }

  async #checkBucket(bucket: StoredBucket): Promise<void> {
    const measured = this.#deps.data.measured(bucket.uuid);
    if (this.#isStopped) return;
    if (measured?.state !== 'ready') this.#attempts.ended(bucket.uuid, { isDue: false, freeBytes: 0 });
    else if (bucket.type === 'ephemeral') await this.#purge(bucket);
    else if (bucket.type === 'native') await this.#checkFiles(bucket, measured);
  }

  async #checkFiles(bucket: StoredBucket, measured: MeasuredBucket): Promise<void> {
    const { data, log } = this.#deps;
    const { uuid, name } = bucket;
    const rules = bucket.autoCompaction ?? clusterCompaction(this.#deps.view);
    const decision = this.#decide(rules, measured);
    if (measured.compaction !== null) {
      if (decision !== 'stop' || measured.compaction.origin !== 'automatic') return;
      log.info('auto_compaction.outside_period', { bucket: name });
      await data.cancelCompaction(uuid, 'automatic');
      return;
    }
    const pauseMs = this.#attempts.ended(uuid, {
      isDue: decision === 'compact',
      freeBytes: measured.freeDiskBytes,
    });
    if (pauseMs > 0) log.warn('auto_compaction.still_due', { bucket: name, retryMs: pauseMs });
    if (decision === 'compact') await this.#begin(bucket, rules, measured);
  }

  #decide(rules: Rules, { dataBytes, freeDiskBytes }: MeasuredBucket): CompactionDecision {
    const { clock, timeOfDay } = this.#deps;
    const { percentage, sizeMb } = rules.databaseFragmentationThreshold;
    const sizeBytes = sizeMb === null ? null : sizeMb * mib;
    const rule = { percentage, sizeBytes, period: rules.allowedTimePeriod };
    return decideCompaction(rule, { dataBytes, freeBytes: freeDiskBytes }, timeOfDay(clock.wallMs()));
  }

  async #begin(bucket: StoredBucket, rules: Rules, { freeDiskBytes }: MeasuredBucket): Promise<void> {
    const { uuid, name } = bucket;
    if (this.#waitsForMoves(uuid)) return;
    if (!this.#attempts.mayBegin(uuid, JSON.stringify(rules))) return;
    if (this.#isDiskBusy() && !rules.parallelDBAndViewCompaction) return;
    this.#attempts.begun(uuid, freeDiskBytes);
    this.#deps.log.info('auto_compaction.begun', { bucket: name, freeBytes: freeDiskBytes });
    await this.#compact(bucket);
  }

  /** While shards move away, for a limited time: a compaction would copy rows that the rebalance is about to remove. */
  #waitsForMoves(uuid: string): boolean {
    const { clock, view } = this.#deps;
    if (!hasLeavingShards(view.map(uuid), view.self.uuid)) {
      this.#waitsSinceMs.delete(uuid);
      return false;
    }
    const now = clock.monotonicMs();
    const since = this.#waitsSinceMs.get(uuid) ?? now;
    this.#waitsSinceMs.set(uuid, since);
    return now - since < waitForMovesMsMax;
  }

  async #purge(bucket: StoredBucket): Promise<void> {
    const { clock } = this.#deps;
    const now = clock.monotonicMs();
    const halfMs = ((bucket.purgeIntervalDays ?? 1) * dayMs) / 2;
    const everyMs = Math.min(Math.max(halfMs, purgeEveryMs.min), purgeEveryMs.max);
    const last = this.#purgedAtMs.get(bucket.uuid);
    if (last === undefined) this.#purgedAtMs.set(bucket.uuid, now);
    if (last === undefined || now - last < everyMs) return;
    this.#purgedAtMs.set(bucket.uuid, now);
    await this.#compact(bucket);
  }

  async #compact(bucket: StoredBucket): Promise<void> {
    const { view, data, clock } = this.#deps;
    const before = purgeBeforeSeconds(bucket, clusterCompaction(view), clock.wallMs());
    await data.compact(bucket.uuid, { origin: 'automatic', purgeBeforeSeconds: before });
  }

  #isDiskBusy(): boolean {
    const { view, data } = this.#deps;
    const isOnDisk = ({ uuid, type }: StoredBucket) => type === 'native' && data.measured(uuid)?.compaction;
    return this.#attempts.anyRunning || view.liveBuckets().some(isOnDisk);
  }

  #discardDeleted(buckets: readonly StoredBucket[]): void {
    const live = new Set(buckets.map(({ uuid }) => uuid));
    this.#attempts.removeExcept(live);
    for (const byBucket of [this.#purgedAtMs, this.#waitsSinceMs])
      for (const uuid of byBucket.keys()) if (!live.has(uuid)) byBucket.delete(uuid);
  }
}

/** Whether the node has copies of shards that a rebalance is moving to other nodes. */
function hasLeavingShards(map: BucketMap | null, node: string): boolean {
  if (!map?.forward) return false;
  const position = map.nodes.indexOf(node);
  const { chains } = map.forward;
  return map.shards.some(
    (shard, index) => shardMembers(shard).includes(position) && !chains[index]?.includes(position),
  );
}

// On each node: watches the configuration, sends the data service its whole desired state, and stores its reports.
// Level-triggered: after any sequence of changes one run brings the data service to the newest state.
import type {
  BucketReport,
  KvAdmin,
  KvDesired,
  KvReport,
  MapChange,
  MapOutcome,
  PeerTls,
  ShardPosition,
  TlsSpec,
  UserSpec,
} from '#kv/admin.ts';
import type { MetricSample } from '#metrics/sample.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { atMost } from '#ports/within.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { BucketMap, ManifestState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type {
  CompactionOrigin,
  CompactionRequest,
  DataService,
  MeasuredBucket,
} from '../config/data-service.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { type ChangeNotifier, until } from '../config/until.ts';
import { BucketRemovals } from './bucket-removals.ts';
import { CreatedFiles } from './created-files.ts';
import { desiredState } from './desired-state.ts';
import { type BucketFacts, kvMetrics } from './kv-metrics.ts';
import { MapWriter } from './map-writer.ts';
import { Samples } from './samples.ts';
import { SharedReports } from './shared-reports.ts';
import { wantedShards } from './wanted-shards.ts';

/** How often the agent reads figures: often while buckets start or clients read figures, else rarely. */
const sampleStepsMs = { warming: 250, read: 1_000, idle: 10_000 };
/** Clients count as reading figures for this time after the last read. */
const readersActiveMs = 30_000;
const retryPauseMs = 1_000;
const refreshTimeoutMs = 500;
/** Metrics wait longer for a report than other readers, since their values must be complete. */
const metricsTimeoutMs = 5_000;

/** Accounts of the data port and their rights; the manifests hold the ids of scopes and collections. */
export interface DataUsers extends ChangeNotifier {
  specs(manifests: ReadonlyMap<string, ManifestState>): UserSpec[];
  /** Whether the data service verifies passwords of unknown users as those of external users. */
  readonly admitsUnknown?: boolean;
}

export interface AgentDeps {
  view: ClusterView;
  store: ConfigStore;
  identity: NodeIdentity;
  kv: Pick<
    KvAdmin,
    'apply' | 'followMap' | 'report' | 'randomKey' | 'shardPositions' | 'compact' | 'cancelCompaction'
  > & {
    /** A count that rises before each answer to a client. If it has not changed since a report, the report shows all that clients were answered. */
    activityCount(): number;
  };
  users: DataUsers;
  /** The TLS options of the data service's listeners; null before the node has a certificate. */
  tls: ChangeNotifier & { current(): TlsSpec | null };
  /** The TLS options of connections between nodes; omitted, or null: this node has no certificate for them. */
  nodeTls?: ChangeNotifier & { current(): PeerTls | null };
  /** Depends only on the configuration and on what `tls` depends on, so the agent need not watch it. */
  listening: { readonly isPlainForThisMachineOnly: boolean };
  /** Which client addresses may connect. */
  clients: ChangeNotifier & { readonly admitted: readonly string[] | null };
  clock: Clock;
  log: Log;
}

export class Agent implements DataService {
  readonly #deps: AgentDeps;
  readonly #removals: BucketRemovals;
  readonly #createdFiles: CreatedFiles;
  readonly #mapWriter: MapWriter;
  readonly #samples = new Samples();
  /** The revisions of maps that were sent. Replaced maps and those of removed buckets leave by themselves. */
  readonly #sentMaps = new WeakMap<BucketMap, number>();
  readonly #listeners = new Set<() => void>();
  readonly #subscriptions: { stop(): void }[] = [];
  /** The newest revision of the configuration that the data service has applied; -1: none. */
  #appliedRevision = -1;
  /** How often a run was requested. */
  #requestedRuns = 0;
  /** The number of the newest request that a completed run has served. */
  #completedRuns = 0;
  #isRunning = false;
  #running: Promise<void> = Promise.resolve();
  readonly #reports: SharedReports;
  #sampler: Timer | null = null;
  #lastReadAtMs = Number.NEGATIVE_INFINITY;
  readonly #stopped = new AbortController();

  constructor(deps: AgentDeps) {
    this.#deps = deps;
    this.#removals = new BucketRemovals(deps);
    this.#createdFiles = new CreatedFiles(deps.store, deps.identity.nodeId);
    this.#mapWriter = new MapWriter(deps);
    this.#reports = new SharedReports({
      requestReport: (bucketUuid) => this.#requestReport(bucketUuid),
      activityCount: () => deps.kv.activityCount(),
      clock: deps.clock,
    });
  }

  /** Starts to send the desired state. Does not wait for the data service; `applied` does. */
  start(): void {
    const { view, users, tls, clients, nodeTls } = this.#deps;
    // This subscription comes first: requests of clients may wait for a map, but not for the rest of the desired state.
    this.#subscriptions.push(view.onChange(() => this.#sendMaps()));
    for (const source of [view, users, tls, clients, ...(nodeTls ? [nodeTls] : [])]) {
      this.#subscriptions.push(source.onChange(() => this.#requestApply()));
    }
    this.#requestApply();
    this.#scheduleSample();
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error('the agent stops'));
    for (const subscription of this.#subscriptions.splice(0)) subscription.stop();
    this.#sampler?.cancel();
    await this.#running;
  }

  async applied(revision: number, timeoutMs: number): Promise<boolean> {
    return until(this, () => this.#appliedRevision >= revision, timeoutMs, this.#deps.clock);
  }

  async caughtUp(timeoutMs: number): Promise<boolean> {
    const wanted = this.#requestedRuns;
    return until(this, () => this.#completedRuns >= wanted, timeoutMs, this.#deps.clock);
  }

  async refresh(bucketUuid?: string): Promise<void> {
    this.#lastReadAtMs = this.#deps.clock.monotonicMs();
    const report = this.#reports.read(bucketUuid);
    if (report !== null) await atMost(this.#deps.clock, refreshTimeoutMs, report);
  }

  measured(bucketUuid: string): MeasuredBucket | null {
    return this.#samples.measured(bucketUuid);
  }

  connections(): number {
    return this.#samples.connections();
  }

  async metrics(): Promise<MetricSample[]> {
    await atMost(this.#deps.clock, metricsTimeoutMs, this.#requestReport());
    this.#scheduleSample();
    const report = this.#samples.report();
    return report ? [...kvMetrics(report, (uuid) => this.#bucketFacts(uuid))] : [];
  }

  /** Makes a change of a map that the data service requests. */
  changeMap(change: MapChange): Promise<MapOutcome> {
    return this.#mapWriter.change(change);
  }

  randomKey(bucket: string): Promise<string | null> {
    return this.#deps.kv.randomKey(bucket);
  }

  shardPositions(bucketUuid: string): Promise<readonly (ShardPosition | null)[]> {
    return this.#deps.kv.shardPositions(bucketUuid);
  }

  async compact(bucketUuid: string, request: CompactionRequest): Promise<void> {
    await this.#deps.kv.compact(bucketUuid, request);
    // A report that was taken before the data service began the compaction does not show it.
    this.#reports.forget();
  }

  async cancelCompaction(bucketUuid: string, origin: CompactionOrigin): Promise<void> {
    await this.#deps.kv.cancelCompaction(bucketUuid, origin);
    this.#reports.forget();
  }

  onChange(listener: () => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }

  /** Sends changed maps ahead of the desired state: of all its parts, handovers of shards wait only for the maps. */
  #sendMaps(): void {
    const { kv, view } = this.#deps;
    if (view.cluster.nodes.length < 2 || !view.isActive) return;
    for (const { uuid } of view.liveBuckets()) {
      const [map, revision] = [view.map(uuid), view.mapRevision(uuid)];
      if (map === null || this.#sentMaps.get(map) === revision) continue;
      this.#sentMaps.set(map, revision);
      const shards = wantedShards(map, view.self.uuid);
      // A failure has no effect: the desired state, which is sent next, contains the map, too.
      kv.followMap({ bucketUuid: uuid, revision, shards }).catch(() => {});
    }
  }

  #requestApply(): void {
    this.#requestedRuns++;
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (this.#completedRuns !== this.#requestedRuns && !this.#stopped.signal.aborted) {
      try {
        await this.#apply();
      } catch (error) {
        if (this.#stopped.signal.aborted) break;
        this.#deps.log.error('agent.apply_failed', { reason: (error as Error).message });
        await this.#deps.clock.sleep(retryPauseMs, this.#stopped.signal).catch(() => {});
      }
    }
    this.#isRunning = false;
  }

  async #apply(): Promise<void> {
    const { view, kv, users, tls, listening, clients, clock, identity, nodeTls } = this.#deps;
    const wanted = this.#requestedRuns;
    const revision = view.latestRevision();
    const deleting = view.deletingBuckets();
    const manifests = new Map(
      view.liveBuckets().map((bucket) => [bucket.name, view.manifest(bucket.uuid)] as const),
    );
    const wantedState = desiredState(view, users.specs(manifests), tls.current(), {
      identity,
      nodeTls: nodeTls?.current() ?? null,
    });
    const desired = {
      ...wantedState,
      buckets: await this.#createdFiles.mark(wantedState.buckets),
      deletedBuckets: [...wantedState.deletedBuckets, ...(await this.#deletedBefore())],
    };
    const report = await kv.apply({
      ...desired,
      plainForThisMachineOnly: listening.isPlainForThisMachineOnly,
      clients: clients.admitted,
      admitsUnknownUsers: users.admitsUnknown ?? false,
    });
    this.#reports.forget();
    this.#samples.update(report, timeOf(clock, clock.monotonicMs()));
    if (this.#samples.isWarming()) this.#scheduleSample();
    for (const bucket of deleting) await this.#removals.confirm(bucket);
    await this.#storeCreatedFiles(desired, report);
    throwIfUnflushed(desired.buckets, report.buckets);
    this.#completedRuns = wanted;
    this.#appliedRevision = Math.max(this.#appliedRevision, revision);
    this.#notify();
  }

  /** Buckets that were deleted while this node did not run. If the store cannot be written now, their files stay until a later run. */
  async #deletedBefore(): Promise<string[]> {
    try {
      return await this.#createdFiles.ofDeletedBuckets(this.#deps.view.buckets);
    } catch (error) {
      this.#deps.log.warn('agent.deleted_files_stay', { reason: (error as Error).message });
      return [];
    }
  }

  /** A failed write is repeated after the next change: until then lost files cannot be distinguished from files not yet created. */
  async #storeCreatedFiles(desired: KvDesired, report: KvReport): Promise<void> {
    try {
      await this.#createdFiles.record(desired, report.buckets);
    } catch (error) {
      this.#deps.log.warn('agent.created_files_not_stored', { reason: (error as Error).message });
    }
  }

  #bucketFacts(uuid: string): BucketFacts | null {
    const { view } = this.#deps;
    const bucket = view.liveBuckets().find((candidate) => candidate.uuid === uuid);
    if (!bucket) return null;
    return {
      quotaBytes: bucket.ramQuotaMb * 1024 * 1024,
      evictsNothing: bucket.evictionPolicy === 'noEviction',
      manifest: view.manifest(uuid),
    };
  }

  #scheduleSample(): void {
    const { clock } = this.#deps;
    this.#sampler?.cancel();
    if (this.#stopped.signal.aborted) return;
    this.#sampler = clock.after(this.#sampleStepMs(), () => {
      void this.#requestReport().finally(() => this.#scheduleSample());
    });
  }

  #sampleStepMs(): number {
    if (this.#samples.isWarming()) return sampleStepsMs.warming;
    const isRead = this.#deps.clock.monotonicMs() - this.#lastReadAtMs < readersActiveMs;
    return isRead ? sampleStepsMs.read : sampleStepsMs.idle;
  }

  /** Takes a report of all buckets, or of one. */
  async #requestReport(bucketUuid?: string): Promise<void> {
    const { kv, clock } = this.#deps;
    const requestedMs = clock.monotonicMs();
    try {
      const report = await kv.report(bucketUuid);
      const now = timeOf(clock, requestedMs);
      const isChanged =
        bucketUuid === undefined
          ? this.#samples.update(report, now)
          : this.#samples.updateOne(bucketUuid, report, now);
      if (isChanged) this.#notify();
    } catch (error) {
      this.#deps.log.warn('agent.report_failed', { reason: (error as Error).message });
    }
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

type FlushState = Pick<BucketReport, 'name' | 'uuid' | 'incarnation'>;

/** The error makes the agent retry a failed flush: disk space for the new files may become free. */
function throwIfUnflushed(desired: readonly FlushState[], present: readonly FlushState[]): void {
  const incarnations = new Map(desired.map(({ uuid, incarnation }) => [uuid, incarnation]));
  for (const { name, uuid, incarnation } of present) {
    if (incarnation < (incarnations.get(uuid) ?? 0)) throw new Error(`bucket "${name}" is not flushed yet`);
  }
}

const timeOf = (clock: Clock, requestedMs: number) => ({ monotonicMs: clock.monotonicMs(), requestedMs });

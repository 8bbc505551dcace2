// One replication: connects source and target, keeps checkpoints, and starts again after a failure, from the last position that the
// target is known to have.
import { type Deferred, deferred } from '#base/deferred.ts';
import { BucketClient } from '#client/bucket-client.ts';
import { statusName } from '#client/data-port-error.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { untilAborted } from '#ports/within.ts';
import { ReplicationCounts } from '../replication-counts.ts';
import type { OutgoingVersion } from '../target/outgoing.ts';
import { TargetLink } from '../target/target-link.ts';
import type { TargetMap } from '../target/target-map.ts';
import type {
  CheckpointStore,
  ReplicationError,
  ReplicationReport,
  TargetAccess,
  WantedReplication,
} from '../xdcr.contract.ts';
import { Checkpoints } from './checkpoints.ts';
import { leveledLog } from './leveled-log.ts';
import { OutboundPipeline, type SourceAccess } from './pipeline.ts';
import { PositionRecorder } from './position-recorder.ts';
import type { PriorityShares } from './priority-shares.ts';

export interface ReplicationDeps {
  readonly source: SourceAccess;
  readonly readMap: (access: TargetAccess, bucket: string) => Promise<TargetMap>;
  readonly checkpoints: CheckpointStore;
  readonly clock: Clock;
  readonly log: Log;
  /** The vbuckets of the source bucket that are active on this node. */
  readonly vbuckets: () => readonly number[];
  /** How many nodes replicate the bucket, and share the network limit. */
  readonly sendingNodes: () => number;
  readonly shares: PriorityShares;
}

const errorsMax = 10;
/** The interval at which positions are recorded: after a failure at most the changes of one interval are sent again. */
const recordMs = 10_000;
/** The interval of requests for the collections of both sides. */
const collectionsMs = 5_000;
const stopLimitMs = 5_000;
/** Refused documents that are logged while the connections stay open; the further ones are only counted. */
const refusedLoggedMax = 100;

export class RunningReplication {
  wanted: WantedReplication;
  private readonly deps: ReplicationDeps;
  private readonly counts = new ReplicationCounts();
  private readonly checkpoints: Checkpoints;
  private readonly errors: ReplicationError[] = [];
  private stopping = new AbortController();
  private running: Promise<void> | null = null;
  private pipeline: OutboundPipeline | null = null;
  private link: TargetLink | null = null;
  private failure: Deferred<Error> = deferred();
  private recorder: PositionRecorder | null = null;
  /** Serves the reports, which continue while the replication is paused. */
  private sourceClient: BucketClient | null = null;
  private openingSource: Promise<BucketClient> | null = null;
  private lastChangesLeft = 0;
  /** Nodes of the target by its last configuration: those of the reference may have left the cluster. */
  private lastHosts: readonly string[] = [];
  private hasEnded = false;
  private refusedLogged = 0;
  private lastTotals = { timeMs: 0, written: 0, received: 0, optimistic: 0, bytes: 0, checked: 0 };

  constructor(wanted: WantedReplication, deps: ReplicationDeps) {
    this.wanted = wanted;
    this.deps = deps;
    this.checkpoints = new Checkpoints({
      replication: wanted.id,
      sourceBucketUuid: wanted.source.uuid,
      filterEpochs: wanted.filterEpochs,
      mappings: wanted,
      store: deps.checkpoints,
    });
  }

  start(): void {
    if (this.running !== null || this.wanted.isPaused) return;
    this.stopping = new AbortController();
    this.running = this.run(this.stopping.signal);
  }

  /** Stores a checkpoint if the target answers. */
  async stop(): Promise<void> {
    const { clock } = this.deps;
    if (this.running === null) return;
    const limit = clock.after(stopLimitMs, () => this.stopping.abort(new Error('the replication stops')));
    // The target still acknowledges what was sent to it; the change streams are paused.
    this.pipeline?.close();
    if (this.pipeline !== null) await Promise.race([this.checkpoint(), whenAborted(this.stopping.signal)]);
    limit.cancel();
    this.stopping.abort(new Error('the replication stops'));
    this.failure.resolve(new Error('the replication stops'));
    await this.running;
    this.running = null;
  }

  /** Ends the replication permanently. */
  async end(): Promise<void> {
    await this.stop();
    this.hasEnded = true;
    this.sourceClient?.close();
  }

  /** Applies a new definition and continues at the recorded positions; from the start if the filter requires it. */
  async change(wanted: WantedReplication): Promise<void> {
    await this.stop();
    this.wanted = wanted;
    this.checkpoints.useFilter(wanted.filterEpochs);
    this.checkpoints.useMappings(wanted);
    this.start();
  }

  async report(): Promise<ReplicationReport> {
    const queued = this.link?.queued ?? { items: 0, bytes: 0 };
    return {
      id: this.wanted.id,
      isConnected: this.pipeline !== null,
      figures: {
        ...this.counts.byName,
        ...(await this.positions()),
        docs_checked: this.checkpoints.covered,
        docs_rep_queue: queued.items,
        size_rep_queue: queued.bytes,
        ...this.rates(),
        ...this.counts.means(),
      },
      errors: this.errors,
    };
  }

  /** Replicated and remaining changes, also while the target is unreachable; until checkpoints are loaded all changes count as remaining. */
  private async positions(): Promise<Record<string, number>> {
    const own = this.deps.vbuckets();
    const seqno = (vb: number) =>
      this.pipeline?.progress[vb]?.seqno ?? this.checkpoints.get(vb)?.source.seqno ?? 0;
    const processed = own.reduce((sum, vb) => sum + seqno(vb), 0);
    const highs = await this.highSeqnos();
    if (highs === null) return { docs_processed: processed, changes_left: this.lastChangesLeft };
    const high = own.reduce((sum, vb) => sum + (highs[vb] ?? 0), 0);
    this.lastChangesLeft = Math.max(0, high - processed);
    return { docs_processed: processed, changes_left: this.lastChangesLeft };
  }

  /** Null while the source does not answer. */
  private async highSeqnos(): Promise<Float64Array | null> {
    try {
      if (this.hasEnded) return null;
      const client = this.sourceClient?.isClosed === false ? this.sourceClient : await this.openSource();
      return await client.highSeqnos();
    } catch {
      return null;
    }
  }

  /** Concurrent calls share the connection. */
  private openSource(): Promise<BucketClient> {
    const bucket = this.wanted.source.bucket;
    this.openingSource ??= BucketClient.open({ ...this.deps.source, bucket })
      .then((client) => {
        this.sourceClient = client;
        if (this.hasEnded) client.close();
        return client;
      })
      .finally(() => {
        this.openingSource = null;
      });
    return this.openingSource;
  }

  /** Differences since the last report, per second. */
  private rates(): Record<string, number> {
    const timeMs = this.deps.clock.monotonicMs();
    const now = {
      timeMs,
      written: this.counts.get('docs_written'),
      received: this.counts.get('docs_received_from_dcp'),
      optimistic: this.counts.get('docs_opt_repd'),
      bytes: this.counts.get('data_replicated'),
      checked: this.checkpoints.covered,
    };
    const last = this.lastTotals;
    this.lastTotals = now;
    const seconds = (timeMs - last.timeMs) / 1000;
    const rate = (name: Exclude<keyof typeof now, 'timeMs'>) =>
      last.timeMs === 0 ? 0 : Math.max(0, now[name] - last[name]) / seconds;
    return {
      rate_replicated: rate('written'),
      rate_received_from_dcp: rate('received'),
      rate_doc_opt_repd: rate('optimistic'),
      rate_doc_checks: rate('checked'),
      bandwidth_usage: rate('bytes'),
    };
  }

  /** The log, limited to the level in the settings of the replication. */
  private get log(): Log {
    return leveledLog(this.deps.log, this.wanted.settings.logLevel);
  }

  private async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    while (!signal.aborted) {
      const reason = await this.attempt(signal).catch((error: Error) => error);
      if (signal.aborted) return;
      this.addError(reason.message);
      this.log.warn('xdcr.interrupted', { replication: this.wanted.id, reason: reason.message });
      const pauseMs = this.wanted.settings.failureRestartInterval * 1000;
      await clock.sleep(pauseMs, signal).catch(() => {}); // stopped: the loop sees it
    }
  }

  /** Replicates until a failure; resolves with its reason. */
  private async attempt(signal: AbortSignal): Promise<Error> {
    this.failure = deferred();
    this.refusedLogged = 0;
    const failed = (reason: Error) => this.failure.resolve(reason);
    const vbuckets = this.deps.vbuckets();
    let pipeline: OutboundPipeline | null = null;
    let link: TargetLink | null = null;
    let recorder: PositionRecorder | null = null;
    const periodic = new AbortController();
    // A target that does not answer must not delay a stop: the changes of all replications wait for it.
    const closeLink = () => link?.close();
    signal.addEventListener('abort', closeLink);
    try {
      const connecting = this.connect(failed, (outgoing) => pipeline?.collectionLost(outgoing));
      link = await untilAborted(signal, connecting, (late) => late.close());
      await this.checkpoints.load(link.map.bucketUuid, vbuckets);
      const recording = new PositionRecorder({ checkpoints: this.checkpoints, link, vbuckets });
      recorder = recording;
      await recording.discardLostCheckpoints();
      pipeline = new OutboundPipeline({
        ...this.deps,
        wanted: this.wanted,
        vbuckets,
        failed,
        counts: this.counts,
        startOf: (vb) => this.checkpoints.get(vb)?.source,
        resumed: this.checkpoints,
        skippedChanged: () => this.checkpoints.skippedChanged(vbuckets),
        backfilled: () => recording.recordBackfill(),
      });
      recorder.follow(pipeline.progress);
      const outdatedMappings = this.checkpoints.outdatedMappings();
      await pipeline.start(link, outdatedMappings);
      this.checkpoints.mappingsCompared();
      signal.throwIfAborted();
      this.pipeline = pipeline;
      this.link = link;
      this.recorder = recorder;
      this.startPeriodicWork(periodic.signal);
      this.log.info('xdcr.connected', { replication: this.wanted.id, vbuckets: vbuckets.length });
      // Otherwise the next start would compare the mappings again.
      if (outdatedMappings.length > 0) void this.checkpoint();
      return await this.failure.promise;
    } finally {
      this.pipeline = null;
      this.link = null;
      this.recorder = null;
      signal.removeEventListener('abort', closeLink);
      periodic.abort(new Error('the replication is interrupted'));
      this.counts.discardTimes();
      link?.close();
      await pipeline?.stop();
      await recorder?.close();
    }
  }

  private connect(
    failed: (reason: Error) => void,
    collectionLost: (outgoing: OutgoingVersion) => void,
  ): Promise<TargetLink> {
    const { wanted, deps, counts } = this;
    const { bucket, access } = wanted.target;
    return TargetLink.open({
      access,
      bucket,
      counts,
      failed,
      collectionLost,
      heldUp: (status) => this.addError(`the target takes no documents for now (${statusName(status)})`),
      leftOut: (outgoing, status) => this.leftOut(outgoing, status),
      rule: wanted.conflictResolution,
      settings: wanted.settings,
      clock: deps.clock,
      senders: deps.sendingNodes(),
      share: () => deps.shares.shareOf(wanted.settings.priority),
      readMap: async () => {
        const hosts = [...new Set([...access.hosts, ...this.lastHosts])];
        const map = await deps.readMap({ ...access, hosts }, bucket);
        this.lastHosts = map.hosts;
        return map;
      },
    });
  }

  /** Keys are user data, which the log has none of: the vbucket and the seqno identify the version. */
  private leftOut({ vb, seqno }: OutgoingVersion, status: number): void {
    const name = statusName(status);
    this.addError(
      `the target refuses documents for good with status ${name}: they are left out, and counted as docs_refused`,
    );
    if (++this.refusedLogged > refusedLoggedMax) return;
    this.log.warn('xdcr.document_refused', { replication: this.wanted.id, vb, seqno, status: name });
  }

  private startPeriodicWork(signal: AbortSignal): void {
    const { settings } = this.wanted;
    this.repeat(recordMs, signal, async () => this.recorder?.record());
    this.repeat(settings.checkpointInterval * 1000, signal, () => this.checkpoint());
    this.repeat(collectionsMs, signal, async () => this.pipeline?.followManifests());
  }

  private repeat(intervalMs: number, signal: AbortSignal, work: () => Promise<unknown>): void {
    const loop = async (): Promise<void> => {
      while (!signal.aborted) {
        await this.deps.clock.sleep(intervalMs, signal);
        await work();
      }
    };
    loop().catch((error: Error) => {
      if (!signal.aborted) this.failure.resolve(error);
    });
  }

  private async checkpoint(): Promise<void> {
    const startedMs = this.deps.clock.monotonicMs();
    try {
      await this.recorder?.record();
      await this.checkpoints.save();
      this.counts.add('num_checkpoints');
      this.log.debug('xdcr.checkpoint_stored', { replication: this.wanted.id });
      this.counts.time('time_committing', this.deps.clock.monotonicMs() - startedMs);
    } catch (error) {
      this.counts.add('num_failedckpts');
      this.addError(`a checkpoint failed: ${(error as Error).message}`);
    }
  }

  /** The same error again takes the place of the former one: many documents are refused for one reason. */
  private addError(text: string): void {
    if (this.errors[0]?.text === text) this.errors.shift();
    this.errors.unshift({ timeMs: this.deps.clock.wallMs(), text });
    this.errors.length = Math.min(this.errors.length, errorsMax);
  }
}

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

// A process of a node in a simulated schedule: its data service without listeners, which follows the map and the record of the bucket, and the part
// of its manager that sends it there.
import { BucketRemovals } from '#cluster/agent/bucket-removals.ts';
import { MapWriter } from '#cluster/agent/map-writer.ts';
import { wantedShards } from '#cluster/agent/wanted-shards.ts';
import {
  type BucketMap,
  type BucketsState,
  bucketsKey,
  type ClusterState,
  clusterKey,
  mapKey,
  mapPrefix,
  type NodeState,
  noBuckets,
  type StoredBucket,
} from '#cluster/config/cluster-state.ts';
import type { BucketSpec, ShardPosition } from '#kv/admin.ts';
import type { Bucket } from '#kv/bucket/bucket.ts';
import type { Documents } from '#kv/data/documents.ts';
import type { MemoryDisk } from '#kv/disk/memory-engine.ts';
import type { BucketHost } from '#kv/host/bucket-host.ts';
import { BucketHosts } from '#kv/host/bucket-hosts.ts';
import { TriedSteps } from '#kv/host/tried-steps.ts';
import { Replication } from '#kv/replication/replication.ts';
import { HeldReply } from '#kv/served/held-reply.ts';
import { silentLog } from '#ports/log.ts';
import type { Status } from '#wire/status.ts';
import { type FaultyConfigStore, portOf } from './faulty-config-store.ts';
import { NodeDocuments } from './node-documents.ts';
import { quotaAmple } from './scheduled-bucket.ts';
import type { ScheduledCluster } from './scheduled-cluster.ts';
import type { SimulatedClock } from './simulated-clock.ts';

/** A failed step is repeated after this time. */
const retryMs = 1_000;
/** The data service waits this long for the start of a bucket. */
const startWaitMs = 2_000;
const expiryPagerSeconds = 3;

export class ScheduledNode extends NodeDocuments {
  readonly name: string;
  readonly boot: string;
  protected readonly clock: SimulatedClock;
  quotaBytes = quotaAmple;
  private readonly cluster: ScheduledCluster;
  private readonly removals: BucketRemovals;
  private readonly replication: Replication;
  private readonly hosts: BucketHosts;
  private readonly entries = new Map<string, { readonly value: unknown; readonly revision: number }>();
  private isRequested = false;
  private last: Promise<void> = Promise.resolve();
  private isOver = false;
  /** The revision of the list of buckets that the data service has applied. */
  private appliedRevision = 0;

  constructor(
    cluster: ScheduledCluster,
    options: { name: string; boot: string; store: FaultyConfigStore; disk: MemoryDisk },
  ) {
    super();
    const { boot, disk, name, store } = options;
    const { clock, links, log, random, rollbackLimits, vbucketCount } = cluster;
    this.cluster = cluster;
    this.name = name;
    this.boot = boot;
    this.clock = clock;
    const host = links.host(name);
    void host.listen('', 0);
    const identity = { nodeId: name, bootId: boot };
    const writer = new MapWriter({ store, clock, identity });
    this.removals = new BucketRemovals({ store, identity, view: this });
    const tick = (): void => this.tick();
    const self = { node: name, boot };
    const change = (wanted: Parameters<MapWriter['change']>[0]) => writer.change(wanted);
    this.replication = new Replication({ self, links: host, clock, log, rollbackLimits, tick, change });
    this.hosts = new BucketHosts({
      bucket: {
        clock,
        now: this.now,
        random: portOf(random),
        log: silentLog,
        disk: disk.engine(),
        folder: '',
        vbucketCount,
        replication: () => this.replication,
      },
      added: () => {},
      removed: () => {},
      configChanged: () => {},
    });
    this.tick();
  }

  /** The host of the present bucket; undefined: the node does not have it. */
  get host(): BucketHost | undefined {
    return this.hosts.of(this.cluster.bucket.uuid);
  }

  /** The present bucket; null: the node does not serve requests for it. */
  get open(): Bucket | null {
    const { host } = this;
    return host === undefined || host.served.documents === null ? null : host.bucket;
  }

  get bucket(): Bucket {
    const { open } = this;
    if (open === null) throw new Error(`node ${this.name} does not serve the bucket`);
    return open;
  }

  get documents(): Documents {
    return this.bucket.documents;
  }

  /** How often the bucket was flushed here. */
  get incarnation(): number {
    return this.host?.incarnation ?? -1;
  }

  /** Calls `done` with the outcome of the durable write. */
  hold(token: number, done: (status: Status) => void): void {
    const holder = { replyResolved: ({ status }: HeldReply) => done(status as Status) };
    const head = { opcode: 0, opaque: 0, order: 'ordered', quiet: false, startedMs: -1 } as const;
    this.host?.served.holdUntilDurable(token, new HeldReply(holder, head, Buffer.alloc(0)));
  }

  setQuota(bytes: number): void {
    this.quotaBytes = bytes;
    this.open?.setRules({ quotaBytes: bytes });
  }

  positions(bucketUuid: string): readonly (ShardPosition | null)[] {
    return this.hosts.of(bucketUuid)?.positions() ?? [];
  }

  /** Whether the data service has applied this revision of the list of buckets, and the newest map that it has seen is of this revision. */
  hasApplied(bucketsRevision: number, mapRevision: number): boolean {
    const seen = this.entries.get(mapKey(this.cluster.bucket.uuid))?.revision;
    return this.appliedRevision >= bucketsRevision && seen === mapRevision && !this.isRequested;
  }

  /** The process sees a value of the configuration. */
  see(key: string, value: unknown, revision: number): void {
    if (this.isOver) return;
    this.entries.set(key, { value, revision });
    if (key === clusterKey) this.followMembers(value as ClusterState);
    if (key.startsWith(mapPrefix)) {
      const bucketUuid = key.slice(mapPrefix.length);
      const shards = wantedShards(value as BucketMap, this.name);
      this.tick();
      this.hosts.of(bucketUuid)?.followMap({ bucketUuid, revision, shards });
    }
    this.requestApply();
  }

  /** The manifest of the bucket that this node knows has changed. */
  requestApply(): void {
    if (this.isRequested || this.isOver) return;
    this.isRequested = true;
    this.last = this.last.then(() => this.apply());
  }

  /** The process ends; its memory is lost. */
  crash(): void {
    this.isOver = true;
    this.cluster.links.detach(this.name);
    this.replication.close();
    for (const { bucket } of this.hosts.all.values()) void bucket.stop().catch(() => {});
  }

  /** The process ends cleanly, as a data service does. */
  async stop(): Promise<void> {
    this.isOver = true;
    this.replication.stop();
    try {
      await this.last;
      for (const host of this.hosts.all.values()) await host.stop();
      await this.replication.release();
    } finally {
      this.crash();
    }
  }

  /** As this process sees them. */
  get buckets(): BucketsState {
    return (this.entries.get(bucketsKey)?.value as BucketsState | undefined) ?? noBuckets(0);
  }

  /** The active nodes, as this process sees them: all have documents. */
  get dataNodes(): readonly NodeState[] {
    const cluster = this.entries.get(clusterKey)?.value as ClusterState | undefined;
    return cluster?.nodes.filter(({ membership }) => membership === 'active') ?? [];
  }

  get isActive(): boolean {
    return this.dataNodes.some(({ uuid }) => uuid === this.name);
  }

  private followMembers({ balance, nodes }: ClusterState): void {
    const { boot, cluster, name } = this;
    const active = nodes.filter(({ membership }) => membership === 'active');
    const self = nodes.find(({ uuid }) => uuid === name);
    const keepsCopies =
      balance?.failing?.includes(name) || self?.membership !== 'active' || self.keepsCopies === true;
    const others = active.filter(({ uuid }) => uuid !== name);
    this.replication.follow({
      self: { node: name, boot },
      peers: others.map(({ uuid: node }) => ({ node, host: '', port: 1 })),
      tls: null,
      promiseMs: cluster.promiseMs,
      keepsCopies,
    });
  }

  private async apply(): Promise<void> {
    const { clock, hosts } = this;
    this.isRequested = false;
    const revision = this.entries.get(bucketsKey)?.revision ?? 0;
    const all = Object.values(this.buckets.byUuid);
    const deleting = all.filter(({ state }) => state === 'deleting');
    const buckets = all.filter(({ state }) => state === 'ready').flatMap((bucket) => this.specOf(bucket));
    try {
      if (this.isOver) return;
      this.tick();
      const steps = new TriedSteps();
      await hosts.keepOnly({ buckets, deletedBuckets: deleting.map(({ uuid }) => uuid) }, steps);
      steps.throwFirst();
      if (this.isOver) return;
      await Promise.all(buckets.map((spec) => hosts.follow(spec, expiryPagerSeconds)));
      await Promise.race([Promise.all(hosts.starts()), clock.sleep(startWaitMs)]);
      this.noteFiles();
      for (const bucket of deleting) await this.removals.confirm(bucket);
      const isFlushed = buckets.every(
        ({ uuid, incarnation }) => (hosts.of(uuid)?.incarnation ?? -1) >= incarnation,
      );
      if (!isFlushed) throw new Error('the bucket is not flushed yet');
      this.appliedRevision = revision;
    } catch {
      clock.after(retryMs, () => this.requestApply());
    }
  }

  private specOf(record: StoredBucket): BucketSpec[] {
    const { cluster, name } = this;
    const map = this.entries.get(mapKey(record.uuid));
    if (map === undefined) return [];
    return [
      {
        name: record.name,
        uuid: record.uuid,
        incarnation: record.incarnation,
        filesExisted: cluster.hasFiles(name, record.uuid),
        type: 'native',
        quotaBytes: this.quotaBytes,
        replicaNumber: record.replicaNumber,
        evictionPolicy: record.evictionPolicy,
        threadsNumber: 3,
        durabilityMinLevel: 'none',
        maxTtl: 0,
        compressionMode: cluster.bucket.compresses ? 'active' : 'passive',
        conflictResolution: 'seqno',
        clockDriftMs: { ahead: 5_000, behind: 5_000 },
        manifest: cluster.bucket.manifestOf(name, record.uuid),
        shards: wantedShards(map.value as BucketMap, name),
        mapRevision: map.revision,
        clusterConfig: { revEpoch: 1, rev: 1, json: '{}' },
      },
    ];
  }

  private noteFiles(): void {
    for (const { bucket, served } of this.hosts.all.values())
      if (bucket.state === 'ready' && bucket.damaged.length === 0)
        this.cluster.noteFiles(this.name, served.uuid);
  }
}

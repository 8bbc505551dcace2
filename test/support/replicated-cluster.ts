// Nodes in one process, over simulated time and connections, with a map that they share: data services without their listeners.
import type { ShardSpec } from '#kv/admin.ts';
import { Bucket } from '#kv/bucket/bucket.ts';
import { type Documents, DurabilityLevel } from '#kv/data/documents.ts';
import type { MemoryDisk } from '#kv/disk/memory-engine.ts';
import type { BucketReplication } from '#kv/replication/bucket-replication.ts';
import type { BucketReplicationOptions } from '#kv/replication/bucket-replication-options.ts';
import { Replication } from '#kv/replication/replication.ts';
import type { WarmingBucket } from '#kv/replication/warming-bucket.ts';
import { type Log, silentLog } from '#ports/log.ts';
import type { Status } from '#wire/status.ts';
import { portOf } from './faulty-config-store.ts';
import { NodeDocuments } from './node-documents.ts';
import type { Random } from './random.ts';
import { RecordingLog } from './recording-log.ts';
import { SharedMap } from './shared-map.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedLinks } from './simulated-links.ts';

export const vbucketCount = 8;
export const shardCount = 4;
/** All shards are served this long after the start: ten seconds may pass until promises of earlier processes have ended. */
export const servingMs = 14_000;

const files = { folder: 'b', bucketUuid: 'b', incarnation: 1, fileCount: 1 };

/** What the nodes of a simulation share. */
export interface NodeHost {
  readonly clock: SimulatedClock;
  readonly links: SimulatedLinks;
  readonly random: Random;
  readonly names: readonly string[];
  readonly replicaNumber: number;
  readonly promiseMs: number;
  readonly vbucketCount: number;
  readonly shardCount: number;
  readonly log?: Log;
  readonly map: {
    /** A process's access to the map. */
    writer(node: string, boot: string): Pick<BucketReplicationOptions, 'change'>;
    watch(
      node: string,
      changed: (specs: readonly ShardSpec[], revision: number) => void,
    ): Promise<{ stop(): void }>;
  };
}

export class ReplicatedCluster implements NodeHost {
  readonly clock = new SimulatedClock();
  readonly links: SimulatedLinks;
  readonly map: SharedMap;
  readonly random: Random;
  readonly names: readonly string[];
  readonly replicaNumber: number;
  readonly vbucketCount = vbucketCount;
  readonly shardCount = shardCount;
  promiseMs = 10_000;
  readonly log = new RecordingLog();
  /** No earlier process of a node has had the bucket. */
  isBucketNew = false;

  constructor(random: Random, names: readonly string[], replicaNumber = 1) {
    this.random = random;
    this.names = names;
    this.replicaNumber = replicaNumber;
    this.links = new SimulatedLinks(this.clock, random);
    const shards = Array.from({ length: shardCount }, (_, shard) => ({
      epoch: 1,
      chain: names.map((_, position) => (shard + position) % names.length).slice(0, replicaNumber + 1),
    }));
    this.map = new SharedMap(this.clock, { nodes: names, shards });
  }

  /** Without a disk, its bucket is in memory alone. */
  async start(name: string, boot = `${name} 1`, disk?: MemoryDisk): Promise<ReplicatedNode> {
    const node = new ReplicatedNode(this, name, boot, disk);
    await node.start(this.isBucketNew ? 'none' : 'process');
    return node;
  }
}

export class ReplicatedNode extends NodeDocuments {
  protected readonly clock: SimulatedClock;
  readonly cluster: NodeHost;
  readonly name: string;
  readonly boot: string;
  readonly bucket: Bucket;
  readonly replication: Replication;
  /** By token: the outcomes of the durable writes that are no longer pending. */
  readonly resolved = new Map<number, Status>();
  /** Called synchronously when the outcome of a durable write is known. */
  onResolved: (token: number, status: Status) => void = () => {};
  #shards: BucketReplication | null = null;
  #warming: WarmingBucket | null = null;
  /** The map that the node saw last; null: none yet. */
  #seen: [specs: readonly ShardSpec[], revision: number] | null = null;
  #watch: { stop(): void } | null = null;
  #isOver = false;
  #hasMap = true;
  /** False: the changes of the node reach the map, but the node gets no answer and sees no map. */
  receivesMap = true;
  /** How much later than other nodes this node sees a map. */
  mapDelayMs = 0;

  constructor(cluster: NodeHost, name: string, boot: string, disk?: MemoryDisk) {
    const { clock, map, names, random, replicaNumber, shardCount, vbucketCount } = cluster;
    super();
    this.cluster = cluster;
    this.clock = clock;
    this.name = name;
    this.boot = boot;
    const rules = {
      quotaBytes: 2 ** 28,
      maxTtl: 0,
      durabilityMinLevel: DurabilityLevel.none,
      replicaNumber,
      compresses: false,
    };
    const shards = Array.from(
      { length: shardCount },
      () => ({ state: 'dead', epoch: 0, replicas: [] }) as const,
    );
    this.bucket = new Bucket({
      type: disk ? 'native' : 'ephemeral',
      rules,
      now: this.now,
      random: portOf(random),
      log: silentLog,
      vbucketCount,
      shards,
      clock,
      ...(disk && { storage: { disk: disk.engine(), files } }),
      filesOpened: (stoppedBoots) => this.#filesOpened(stoppedBoots),
    });
    this.bucket.documents.onResolved = (token, status) => {
      this.resolved.set(token, status);
      this.onResolved(token, status);
    };
    const links = cluster.links.host(name);
    void links.listen('', 0);
    this.replication = new Replication({
      self: { node: name, boot },
      links,
      clock,
      log: cluster.log ?? silentLog,
      tick: () => this.tick(),
      change: async (change) => {
        if (!this.#hasMap) return { kind: 'unknown', reason: 'the node is cut off from the map' };
        const outcome = await map.writer(name, boot).change(change);
        return this.receivesMap ? outcome : { kind: 'unknown', reason: 'the answer was lost' };
      },
    });
    this.followMembers(names);
  }

  /** The cluster consists of these nodes from now on. */
  followMembers(names: readonly string[], keepsCopies = false): void {
    const { boot, cluster, name } = this;
    const peers = names.filter((other) => other !== name).map((node) => ({ node, host: '', port: 1 }));
    this.replication.follow({
      self: { node: name, boot },
      peers,
      tls: null,
      promiseMs: cluster.promiseMs,
      keepsCopies,
    });
  }

  get documents(): Documents {
    return this.bucket.documents;
  }

  /** `earlier`: whether an earlier process of the node may have made promises for the bucket. */
  async start(earlier: 'none' | 'process' = 'process'): Promise<void> {
    this.tick();
    const { bucket, cluster } = this;
    const loaded = bucket.start();
    this.#watch = await cluster.map.watch(this.name, (specs, revision) => {
      const follow = (): void => this.#follow(specs, revision);
      if (this.mapDelayMs === 0) follow();
      else cluster.clock.after(this.mapDelayMs, follow);
    });
    await loaded;
    if (this.#isOver) return;
    this.#warming = null;
    this.#shards = this.replication.add({ uuid: 'b', incarnation: 1, bucket, changed: () => {}, earlier });
    if (this.#seen !== null) this.#follow(...this.#seen);
  }

  /** Does what the host of a bucket does when its files are open. */
  #filesOpened(stoppedBoots: readonly string[]): void {
    if (stoppedBoots.length === 0) this.#warming = this.replication.warm('b');
  }

  #follow(specs: readonly ShardSpec[], revision: number): void {
    this.tick();
    if (!this.receivesMap) return;
    this.#seen = [specs, revision];
    this.#warming?.follow(specs, revision);
    void this.#shards?.follow(specs, revision);
  }

  /** From now on the node does not change the map. */
  holdMapChanges(): void {
    this.#hasMap = false;
  }

  /** From now on the node neither sees the map nor changes it. */
  cutFromMap(): void {
    this.#watch?.stop();
    this.#hasMap = false;
  }

  /** The process ends; its memory is lost. */
  crash(): void {
    this.#isOver = true;
    this.#watch?.stop();
    this.cluster.links.detach(this.name);
    this.replication.close();
  }

  /** The process ends cleanly, as a data service does. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.#watch?.stop();
    this.replication.stop();
    try {
      await this.bucket.stop(this.boot);
      await this.replication.release();
    } finally {
      this.crash();
    }
  }
}

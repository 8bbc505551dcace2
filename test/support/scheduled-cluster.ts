// A whole cluster in one process under a seed: data services with disks, two orchestrators, and a configuration store whose reads are stale and
// whose answers get lost. Processes can be killed, stopped and started again, and be cut off from the store.
import {
  type BucketMap,
  type BucketsState,
  bucketsKey,
  type ClusterState,
  clusterKey,
  mapKey,
  type ShardPlacement,
} from '#cluster/config/cluster-state.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed } from './cluster.ts';
import { FaultyConfigStore, noStoreFaults, StoreHistory } from './faulty-config-store.ts';
import type { Random } from './random.ts';
import { RecordingLog } from './recording-log.ts';
import { ScheduledBucket } from './scheduled-bucket.ts';
import { ScheduledNode } from './scheduled-node.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedLinks } from './simulated-links.ts';

/** A process that is cut off from the store retries after this time. */
const retryPauseMs = 200;
/** The longest time that a process loads the documents of its bucket. */
const loadMsMax = 4_000;
/** A node writes a change of the configuration to its own disk this long after it has seen it. */
const copyMs = 1_000;

interface Seen {
  readonly value: unknown;
  readonly revision: number;
}

/** A running process of a node. */
export interface Process {
  readonly node: ScheduledNode;
  readonly store: FaultyConfigStore;
  readonly disk: MemoryDisk;
  /** A file of its bucket takes no commits from the next one on. */
  isFileFailing: boolean;
}

export class ScheduledCluster {
  readonly clock = new SimulatedClock();
  readonly links: SimulatedLinks;
  readonly random: Random;
  readonly names: readonly string[];
  readonly promiseMs: number;
  readonly vbucketCount = 4;
  readonly shardCount = 2;
  /** Vbuckets have few documents here: any part of them is rolled back by key. */
  readonly rollbackLimits = { share: 1, rows: 1_000, bytes: 2 ** 20 };
  readonly log = new RecordingLog();
  readonly server = new MemoryConfigStore();
  /** The processes that run, by node. */
  readonly running = new Map<string, Process>();
  /** Shards that have lost the memory of every member of their in-sync set while it was a majority: `majority` covers no such loss. */
  readonly memoryLost = new Set<number>();
  /** Shards whose last copy an operator has given up. */
  readonly givenUp = new Set<number>();
  /** The longest time that a sync of a disk, and a change of the map until a node sees it, may take. */
  readonly slowness: { readonly syncMs: number; readonly watchMs: number };
  private readonly stores = new Map<string, FaultyConfigStore>();
  private readonly disks = new Map<string, MemoryDisk>();
  /** Processes that write what they have and end: the next process of the node begins after them. */
  private readonly stopping = new Map<string, Promise<void>>();
  private readonly boots = new Map<string, number>();
  /** By node: what the copy of the configuration on its disk has. */
  private readonly copies = new Map<string, Map<string, Seen>>();
  /** By node: the buckets whose files were made there. */
  private readonly files = new Map<string, Set<string>>();
  /** By node: the processes whose memory the disk has, and the running one, since each stopped cleanly. */
  private readonly stoppedBoots = new Map<string, readonly string[]>();
  /** What the store has. */
  private readonly newest = new Map<string, Seen>();
  private history: StoreHistory | null = null;
  storeFaults = noStoreFaults;
  current: BucketMap;
  private revisions = { map: 0, buckets: 0 };
  state: ClusterState;
  readonly bucket: ScheduledBucket;
  /** Called before the records of the bucket change so that it is another one, or none. */
  bucketGone: () => void = () => {};

  constructor(random: Random) {
    this.random = random;
    const count = 3 + random(2);
    this.names = ['a', 'b', 'c', 'd'].slice(0, count);
    this.bucket = new ScheduledBucket(this, random);
    this.promiseMs = [1_500, 4_000, 10_000][random(3)] as number;
    this.slowness = {
      syncMs: [2, 100, 3_000][random(3)] as number,
      watchMs: [5, 100, 2_000][random(3)] as number,
    };
    this.links = new SimulatedLinks(this.clock, random);
    this.state = aCluster({ nodes: this.names.map((id) => nodeNamed(id)) });
    this.current = this.newMap(this.names, this.bucket.replicaNumber);
  }

  /** The map of a new bucket on these nodes. */
  newMap(nodes: readonly string[], replicaNumber: number): BucketMap {
    const shards = Array.from({ length: this.shardCount }, (_, shard) => ({
      epoch: 1,
      chain: Array.from({ length: replicaNumber + 1 }, (_, at) =>
        at < nodes.length ? (shard + at) % nodes.length : -1,
      ),
    }));
    return { nodes, shards };
  }

  async begin(): Promise<void> {
    const { bucket, names, server } = this;
    this.history = await StoreHistory.recording(server);
    await server.put(clusterKey, this.state, 0);
    await server.put(mapKey(bucket.uuid), this.current, 0);
    await server.put(bucketsKey, { memoryQuotaMb: 1024, byUuid: { [bucket.uuid]: bucket.record } }, 0);
    await server.watch('', (key, entry) => {
      if (key === clusterKey && entry !== null) this.state = entry.value as ClusterState;
      if (entry !== null) this.newest.set(key, entry);
      if (key === mapKey(bucket.uuid)) this.seeMap();
      if (key === bucketsKey && entry !== null) this.seeBuckets(entry.value as BucketsState, entry.revision);
    });
    for (const name of names) this.start(name);
  }

  /** Whether all running processes have applied the newest configuration. */
  get isConfigurationSeen(): boolean {
    const { buckets, map } = this.revisions;
    return [...this.running.values()].every(({ node }) => node.hasApplied(buckets, map));
  }

  private seeMap(): void {
    const { revision, value } = this.newest.get(mapKey(this.bucket.uuid)) as Seen;
    this.current = value as BucketMap;
    this.revisions.map = revision;
    for (const [shard, { chain }] of this.current.shards.entries())
      if (chain.every((at) => at < 0)) this.givenUp.add(shard);
  }

  private seeBuckets({ byUuid }: BucketsState, revision: number): void {
    this.revisions.buckets = revision;
    const ready = Object.values(byUuid).find(({ state }) => state === 'ready');
    const { isNew } = this.bucket.follow(ready ?? null);
    if (!isNew) return;
    this.bucketGone();
    this.memoryLost.clear();
    this.givenUp.clear();
    if (ready !== undefined) this.seeMap();
  }

  hasFiles(node: string, bucketUuid: string): boolean {
    return this.files.get(node)?.has(bucketUuid) ?? false;
  }

  noteFiles(node: string, bucketUuid: string): void {
    const found = this.files.get(node) ?? new Set();
    this.files.set(node, found.add(bucketUuid));
  }

  /** A process's own access to the store. */
  storeOf(process: string): FaultyConfigStore {
    const { clock, history, random, server } = this;
    const existing = this.stores.get(process);
    if (existing !== undefined || history === null) return existing as FaultyConfigStore;
    const store = new FaultyConfigStore({ server, history, clock, random });
    store.faults = this.storeFaults;
    this.stores.set(process, store);
    return store;
  }

  /** From now on the store has these faults, for every process. */
  setStoreFaults(faults: typeof noStoreFaults): void {
    this.storeFaults = faults;
    for (const store of this.stores.values()) store.faults = faults;
  }

  /** `isCut`: the process cannot reach the store at its start. */
  start(name: string, isCut = false): void {
    const stopping = this.stopping.get(name);
    if (stopping !== undefined) void stopping.then(() => this.startOnce(name, isCut));
    else this.startOnce(name, isCut);
  }

  private startOnce(name: string, isCut: boolean): void {
    if (this.running.has(name)) return;
    const boot = (this.boots.get(name) ?? 0) + 1;
    this.boots.set(name, boot);
    const disk = this.disks.get(name) ?? new MemoryDisk({ sync: () => this.sync(), load: () => this.load() });
    this.disks.set(name, disk);
    const bootId = `${name} ${boot}`;
    const store = this.storeOf(bootId);
    store.isDown = isCut;
    const node = new ScheduledNode(this, { name, boot: bootId, store, disk });
    const process = { node, store, disk, isFileFailing: false };
    this.running.set(name, process);
    void this.watch(name, process);
  }

  /** The node loses its memory, and commits that were not synced. */
  kill(name: string): void {
    const process = this.running.get(name);
    if (process === undefined) return;
    this.end(name, process);
    process.disk.crash();
    process.disk.failNextWrite(null);
  }

  /** The node writes everything to its disk and ends. */
  async stop(name: string): Promise<void> {
    const process = this.running.get(name);
    if (process === undefined) return;
    const { node, store } = process;
    this.stoppedBoots.set(name, [node.boot, ...(this.stoppedBoots.get(name) ?? [])].slice(0, 8));
    this.running.delete(name);
    store.isDown = true;
    this.noteLost(node);
    const stopping = node.stop().catch(() => {});
    this.stopping.set(name, stopping);
    await stopping;
    this.stopping.delete(name);
  }

  private end(name: string, { node, store }: Process): void {
    this.running.delete(name);
    this.stoppedBoots.delete(name);
    store.isDown = true;
    node.crash();
    this.noteLost(node);
  }

  private noteLost(ended: ScheduledNode): void {
    const majority = Math.min(ended.open?.progress.majority ?? Infinity, this.bucket.majorityMin);
    for (const [shard, placement] of this.current.shards.entries()) {
      const members = this.membersOf(placement, ended);
      if (members.length >= majority && !members.some((member) => this.isWhole(member)))
        this.memoryLost.add(shard);
    }
  }

  /** The members of the in-sync set. A shard without one has its active alone: known here where that is the process that has ended. */
  private membersOf(
    { chain: [active = -1], inSync }: ShardPlacement,
    { boot, name }: ScheduledNode,
  ): NonNullable<ShardPlacement['inSync']> {
    const isActive = this.current.nodes[active] === name;
    return inSync ?? (isActive ? [[active, boot]] : []);
  }

  /** Whether a member of an in-sync set has all that it received: its process runs, or stopped cleanly, or the next one runs. */
  isWhole([at, boot]: readonly [position: number, boot: string]): boolean {
    const name = this.current.nodes[at] ?? '';
    return this.running.get(name)?.node.boot === boot || (this.stoppedBoots.get(name) ?? []).includes(boot);
  }

  /** Most processes load quickly; some take longer than the others wait for them. */
  private async load(): Promise<void> {
    if (this.random(3) === 0) await this.clock.sleep(this.random(loadMsMax));
  }

  private async sync(): Promise<void> {
    await this.clock.sleep(this.random(this.slowness.syncMs + 1));
  }

  /**
   * What a process sees of the configuration: at its start what the store has, or else the copy on its disk; then changes, late, those of a key in
   * their order, and nothing while it is cut off.
   */
  private async watch(name: string, process: Process): Promise<void> {
    const { clock, server } = this;
    const newest = new Map<string, number>();
    const see = (key: string, value: unknown, revision: number): void => {
      if (revision <= (newest.get(key) ?? 0)) return;
      newest.set(key, revision);
      process.node.see(key, value, revision);
      clock.after(copyMs, () => this.saveCopy(name, process, key, { value, revision }));
    };
    for (const [key, { revision, value }] of process.store.isDown ? (this.copies.get(name) ?? []) : [])
      see(key, value, revision);
    const deliver = (key: string, value: unknown, revision: number): void => {
      if (this.running.get(name) !== process) return;
      if (!process.store.isDown) see(key, value, revision);
      // The process may miss values in between.
      else clock.after(retryPauseMs, () => deliver(key, ...this.newestOf(key, [value, revision])));
    };
    let isStarting = true;
    let lastMs = 0;
    await server.watch('', (key, entry) => {
      if (entry === null) return;
      lastMs = Math.max(
        lastMs,
        clock.monotonicMs() + (isStarting ? 0 : this.random(this.slowness.watchMs + 1)),
      );
      clock.after(lastMs - clock.monotonicMs(), () => deliver(key, entry.value, entry.revision));
    });
    isStarting = false;
  }

  private newestOf(key: string, known: readonly [value: unknown, revision: number]) {
    const newest = this.random(2) === 0 ? this.newest.get(key) : undefined;
    return newest === undefined ? known : ([newest.value, newest.revision] as const);
  }

  private saveCopy(name: string, process: Process, key: string, seen: Seen): void {
    if (this.running.get(name) !== process) return;
    const copy = this.copies.get(name) ?? new Map<string, Seen>();
    const before = copy.get(key)?.revision ?? 0;
    this.copies.set(name, seen.revision > before ? copy.set(key, seen) : copy);
  }
}

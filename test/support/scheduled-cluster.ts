// A whole cluster in one process under a seed: data services with disks, two orchestrators, and a configuration store whose reads are stale and
// whose answers get lost. Processes can be killed, stopped and started again, and be cut off from the store.
import { MapWriter } from '#cluster/agent/map-writer.ts';
import { wantedShards } from '#cluster/agent/wanted-shards.ts';
import {
  type BucketMap,
  bucketsKey,
  type ClusterState,
  clusterKey,
  mapKey,
} from '#cluster/config/cluster-state.ts';
import type { ShardSpec } from '#kv/admin.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed } from './cluster.ts';
import { FaultyConfigStore, noStoreFaults, StoreHistory } from './faulty-config-store.ts';
import type { Random } from './random.ts';
import { RecordingLog } from './recording-log.ts';
import { type NodeHost, ReplicatedNode } from './replicated-cluster.ts';
import { ScheduledBucket } from './scheduled-bucket.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedLinks } from './simulated-links.ts';

const key = mapKey('b');
/** A process that is cut off from the store retries after this time. */
const retryPauseMs = 200;
/** The longest time that a process loads the documents of its bucket. */
const loadMsMax = 4_000;

/** A running process of a node. */
export interface Process {
  readonly node: ReplicatedNode;
  readonly store: FaultyConfigStore;
  readonly disk: MemoryDisk;
  /** The revision of the map that it has seen last. */
  mapRevision: number;
  /** The file of its bucket takes no commits from the next one on. */
  isFileFailing: boolean;
}

export class ScheduledCluster implements NodeHost {
  readonly clock = new SimulatedClock();
  readonly links: SimulatedLinks;
  readonly random: Random;
  readonly names: readonly string[];
  readonly replicaNumber: number;
  readonly promiseMs: number;
  readonly vbucketCount = 4;
  readonly shardCount = 2;
  readonly expiryPagerSeconds = 3;
  /** Vbuckets have few documents here: any part of them is rolled back by key. */
  readonly rollbackLimits = { share: 1, rows: 1_000, bytes: 2 ** 20 };
  readonly log = new RecordingLog();
  readonly map: NodeHost['map'];
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
  /** By node: the processes whose memory the disk has, and the running one, since each stopped cleanly. */
  private readonly stoppedBoots = new Map<string, readonly string[]>();
  private history: StoreHistory | null = null;
  storeFaults = noStoreFaults;
  current: BucketMap;
  private mapRevision = 0;
  state: ClusterState;

  readonly bucket: ScheduledBucket;

  constructor(random: Random) {
    this.random = random;
    this.bucket = new ScheduledBucket(this, random);
    const count = 3 + random(2);
    this.names = ['a', 'b', 'c', 'd'].slice(0, count);
    this.replicaNumber = 1 + random(2);
    this.promiseMs = [1_500, 4_000, 10_000][random(3)] as number;
    this.slowness = {
      syncMs: [2, 100, 3_000][random(3)] as number,
      watchMs: [5, 100, 2_000][random(3)] as number,
    };
    this.links = new SimulatedLinks(this.clock, random);
    const shards = Array.from({ length: this.shardCount }, (_, shard) => ({
      epoch: 1,
      chain: this.names.map((_, at) => (shard + at) % count).slice(0, this.replicaNumber + 1),
    }));
    this.current = { nodes: this.names, shards };
    this.state = aCluster({ nodes: this.names.map((id) => nodeNamed(id)) });
    this.map = {
      writer: (nodeId, bootId) =>
        new MapWriter({ store: this.storeOf(bootId), clock: this.clock, identity: { nodeId, bootId } }),
      watch: (node, changed) => this.watchMap(node, changed),
    };
  }

  async begin(): Promise<void> {
    const { names, replicaNumber, server } = this;
    this.history = await StoreHistory.recording(server);
    await server.watch('', (_, entry) => {
      if (entry?.key === key) this.see(entry.value as BucketMap, entry.revision);
      if (entry?.key === clusterKey) this.state = entry.value as ClusterState;
    });
    await server.put(clusterKey, this.state, 0);
    const bucket = { uuid: 'b', name: 'b', type: 'native', state: 'ready', replicaNumber };
    await server.put(bucketsKey, { memoryQuotaMb: 1024, byUuid: { b: bucket } }, 0);
    await server.put(key, this.current, 0);
    for (const name of names) this.start(name);
  }

  /** Whether all running processes have seen the newest map. */
  get isMapSeen(): boolean {
    return [...this.running.values()].every(({ mapRevision }) => mapRevision === this.mapRevision);
  }

  private see(map: BucketMap, revision: number): void {
    this.current = map;
    this.mapRevision = revision;
    for (const [shard, { chain }] of map.shards.entries())
      if (chain.every((at) => at < 0)) this.givenUp.add(shard);
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

  start(name: string): void {
    const stopping = this.stopping.get(name);
    if (stopping !== undefined) void stopping.then(() => this.startOnce(name));
    else this.startOnce(name);
  }

  private startOnce(name: string): void {
    if (this.running.has(name)) return;
    const boot = (this.boots.get(name) ?? 0) + 1;
    this.boots.set(name, boot);
    const disk = this.disks.get(name) ?? new MemoryDisk({ sync: () => this.sync(), load: () => this.load() });
    this.disks.set(name, disk);
    const bootId = `${name} ${boot}`;
    const store = this.storeOf(bootId);
    const node = new ReplicatedNode(this, name, bootId, disk);
    const process = { node, store, disk, mapRevision: 0, isFileFailing: false };
    this.running.set(name, process);
    void node.start();
    void this.watch(name, clusterKey, (value) => {
      const { balance, nodes } = value as ClusterState;
      const active = nodes.filter(({ membership }) => membership === 'active');
      const self = nodes.find(({ uuid }) => uuid === name);
      // The buckets of a node that is not active are closed, and their files stay.
      const keepsCopies =
        balance?.failing?.includes(name) || self?.membership !== 'active' || self.keepsCopies;
      node.followMembers(
        active.map(({ uuid }) => uuid),
        keepsCopies,
      );
    });
  }

  /** The node loses its memory, and commits that were not synced. */
  kill(name: string): void {
    const process = this.running.get(name);
    if (process === undefined) return;
    this.end(name, process);
    process.disk.crash();
    process.disk.failNextWrite(null);
    void process.node.bucket.stop().catch(() => {});
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

  private noteLost({ bucket }: ReplicatedNode): void {
    for (const [shard, { inSync = [] }] of this.current.shards.entries())
      if (inSync.length >= bucket.progress.majority && !inSync.some((member) => this.isWhole(member)))
        this.memoryLost.add(shard);
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

  private watchMap(name: string, changed: (specs: readonly ShardSpec[], revision: number) => void) {
    const process = this.running.get(name) as Process;
    return this.watch(name, key, (value, revision) => {
      process.mapRevision = revision;
      changed(wantedShards(value as BucketMap, name), revision);
    });
  }

  /** What a process sees of a key: late, in order, and nothing while it is cut off. */
  private async watch(name: string, prefix: string, seen: (value: unknown, revision: number) => void) {
    const process = this.running.get(name) as Process;
    let lastMs = 0;
    let newest = -1;
    const deliver = (value: unknown, revision: number): void => {
      if (this.running.get(name) !== process) return;
      if (process.store.isDown) this.clock.after(retryPauseMs, () => deliver(value, revision));
      // Values were held back, and a later one may have come first.
      else if (revision > newest) {
        newest = revision;
        seen(value, revision);
      }
    };
    return await this.server.watch(prefix, (_, entry) => {
      if (entry === null) return;
      lastMs = Math.max(lastMs, this.clock.monotonicMs() + this.random(this.slowness.watchMs + 1));
      this.clock.after(lastMs - this.clock.monotonicMs(), () => deliver(entry.value, entry.revision));
    });
  }
}

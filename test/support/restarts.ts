// Nodes in one process that are stopped, killed and started again, over disks that keep what was synced.
import assert from 'node:assert/strict';
import type { BucketMap, ShardPlacement } from '#cluster/config/cluster-state.ts';
import { DurabilityLevel } from '#kv/data/documents.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { Status } from '#wire/status.ts';
import type { aSeed } from './random.ts';
import { type ReplicatedNode as Node, ReplicatedCluster, servingMs } from './replicated-cluster.ts';

export const majority = { durability: DurabilityLevel.majority } as const;
export const persisted = { durability: DurabilityLevel.persistToMajority } as const;
export const activePersisted = { durability: DurabilityLevel.majorityAndPersistActive } as const;

type Durability = typeof majority | typeof persisted | typeof activePersisted;

/** Nodes with disks, each of which is started again as another process. */
export class Restarts {
  readonly cluster: ReplicatedCluster;
  readonly nodes = new Map<string, Node>();
  private readonly disks = new Map<string, MemoryDisk>();
  private boots = 0;
  /** A started process waits for this promise while it loads the documents of its bucket. */
  loaded: Promise<void> = Promise.resolve();

  constructor(seed: ReturnType<typeof aSeed>, names: readonly string[]) {
    this.cluster = new ReplicatedCluster(seed, names, names.length - 1);
  }

  async begin(): Promise<void> {
    for (const name of this.cluster.names) await this.start(name);
    await this.cluster.clock.run(servingMs);
  }

  async start(name: string): Promise<Node> {
    const disk = this.disks.get(name) ?? new MemoryDisk({ load: () => this.loaded });
    this.disks.set(name, disk);
    const node = await this.cluster.start(name, `${name} ${++this.boots}`, disk);
    this.nodes.set(name, node);
    return node;
  }

  node(name: string): Node {
    return this.nodes.get(name) as Node;
  }

  async stop(name: string): Promise<void> {
    await this.cluster.clock.until(this.node(name).stop());
  }

  kill(name: string): void {
    this.node(name).crash();
    this.disks.get(name)?.crash();
    void this.node(name)
      .bucket.stop()
      .catch(() => {});
  }

  /** From its next commit on the disk takes no commits of the running process. */
  failDisk(name: string): void {
    this.disks.get(name)?.failNextWrite('EIO');
  }

  /** A full disk takes no commits until it has space again. */
  fillDisk(name: string, isFull: boolean): void {
    (this.disks.get(name) as MemoryDisk).isFull = isFull;
  }

  end(): void {
    for (const node of this.nodes.values()) node.crash();
  }

  /** Writes to vbucket 0 on the node, which must serve it, and waits until the write is acknowledged. */
  async write(name: string, key: string, change: Durability): Promise<void> {
    const node = this.node(name);
    assert.equal(node.store(key, 0, { ...change, value: key }), Status.success);
    const token = node.result.pending;
    for (let i = 0; i < 100 && !node.resolved.has(token); i++) await this.cluster.clock.run(20);
    assert.equal(node.resolved.get(token), Status.success);
  }

  /** Runs the simulation until this holds, at most for a minute. */
  async until(condition: () => boolean | Promise<boolean>, message: string): Promise<void> {
    for (let i = 0; i < 3_000 && !(await condition()); i++) await this.cluster.clock.run(20);
    assert.ok(await condition(), message);
  }

  /** Receives from now on the placement of shard 0 after each write of the map. */
  recordedPlacements(): readonly ShardPlacement[] {
    const { store } = this.cluster.map;
    const recorded: ShardPlacement[] = [];
    const put = store.put.bind(store);
    store.put = async (key, value, revision) => {
      const made = await put(key, value, revision);
      if (made !== null) recorded.push(...(value as BucketMap).shards.slice(0, 1));
      return made;
    };
    return recorded;
  }

  /** The boot that has confirmed that it is the active of shard 0. */
  async confirmed(): Promise<string | undefined> {
    return (await this.cluster.map.shards())[0]?.confirmed;
  }

  serves(name: string): boolean {
    const node = this.node(name);
    node.tick();
    return node.bucket.documents.isActive(0);
  }

  has(name: string, key: string): boolean {
    return typeof this.node(name).read(key, 0) === 'string';
  }

  /** The nodes of the in-sync set of shard 0; `before` follows the name where an earlier process of the node is meant. */
  async members(): Promise<string[]> {
    const { nodes, names } = { nodes: this.nodes, names: this.cluster.names };
    const inSync = (await this.cluster.map.shards())[0]?.inSync ?? [];
    return inSync.map(([at, boot]) => {
      const name = names[at] ?? '';
      return nodes.get(name)?.boot === boot ? name : `${name} before`;
    });
  }
}

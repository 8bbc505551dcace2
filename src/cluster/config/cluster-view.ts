// The newest configuration that this node has seen, in memory, for readers that accept slightly old values. Writers do not
// use it: they read, change and compare-and-set in the store.
import { assert } from '#base/assert.ts';
import type { ConfigStore, Entry } from '#replog/config-store.ts';
import {
  type BucketMap,
  type BucketsState,
  bucketsKey,
  type ClusterState,
  clusterKey,
  initialManifest,
  isDataNode,
  type ManifestState,
  manifestKey,
  manifestPrefix,
  mapKey,
  mapPrefix,
  type NodeState,
  noBuckets,
  type StoredBucket,
  settingsPrefix,
} from './cluster-state.ts';
import { clusterVersion } from './node-versions.ts';

export class ClusterView {
  /** Whether only programs on its own machine can connect to this node. */
  readonly listensOnLoopbackOnly: boolean;
  readonly #store: ConfigStore;
  readonly #nodeId: string;
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();
  readonly #watches: { stop(): void }[] = [];
  #removed: () => void = () => {};
  #changeCount = 0;
  #live: { readonly of: BucketsState; readonly buckets: readonly StoredBucket[] } | null = null;

  constructor(store: ConfigStore, nodeId: string, { listensOnLoopbackOnly = false } = {}) {
    this.#store = store;
    this.#nodeId = nodeId;
    this.listensOnLoopbackOnly = listensOnLoopbackOnly;
  }

  async start(): Promise<void> {
    for (const prefix of [clusterKey, bucketsKey, manifestPrefix, mapPrefix, settingsPrefix]) {
      this.#watches.push(await this.#store.watch(prefix, (key, entry) => this.#changed(key, entry)));
    }
  }

  stop(): void {
    for (const watch of this.#watches.splice(0)) watch.stop();
    this.#listeners.clear();
  }

  get cluster(): ClusterState {
    const entry = this.#entries.get(clusterKey);
    assert(entry, 'the cluster key is written before it is read');
    return entry.value as ClusterState;
  }

  /** The node that runs this process. */
  get self(): NodeState {
    const node = this.cluster.nodes.find(({ uuid }) => uuid === this.#nodeId);
    assert(node, 'the configuration has this node');
    return node;
  }

  /** Whether this node takes part in the cluster: false until a rebalance after the node was added, and after a failover. */
  get isActive(): boolean {
    return this.self.membership === 'active';
  }

  /** The nodes that take part in the cluster: not those that wait for a rebalance since they were added, or that were failed over. */
  get activeNodes(): readonly NodeState[] {
    return this.cluster.nodes.filter(({ membership }) => membership === 'active');
  }

  /** The active nodes that run the data service. */
  get dataNodes(): readonly NodeState[] {
    return this.activeNodes.filter(isDataNode);
  }

  /** The version of the configuration, and of messages between nodes, that all nodes know. */
  get version(): number {
    return clusterVersion(this.cluster.nodes);
  }

  /** `removed` is called when the cluster has removed this node; the view then keeps the last configuration with this node. */
  whenRemoved(removed: () => void): void {
    this.#removed = removed;
  }

  get buckets(): BucketsState {
    return (this.#entries.get(bucketsKey)?.value as BucketsState | undefined) ?? noBuckets(0);
  }

  /** Buckets that clients can see, in the order of their names. */
  liveBuckets(): readonly StoredBucket[] {
    const { buckets } = this;
    if (this.#live?.of !== buckets) {
      const live = Object.values(buckets.byUuid).filter((bucket) => bucket.state === 'ready');
      this.#live = { of: buckets, buckets: live.sort((a, b) => (a.name < b.name ? -1 : 1)) };
    }
    return this.#live.buckets;
  }

  /** Deleted buckets whose files still exist. */
  deletingBuckets(): StoredBucket[] {
    return Object.values(this.buckets.byUuid).filter((bucket) => bucket.state === 'deleting');
  }

  liveBucket(name: string): StoredBucket | undefined {
    return this.liveBuckets().find((bucket) => bucket.name === name);
  }

  /** The bucket of this uuid: another of the same name is another bucket. */
  liveBucketOf(uuid: string): StoredBucket | undefined {
    return this.liveBuckets().find((bucket) => bucket.uuid === uuid);
  }

  manifest(bucketUuid: string): ManifestState {
    const entry = this.#entries.get(manifestKey(bucketUuid));
    return entry === undefined ? initialManifest() : (entry.value as ManifestState);
  }

  /** Null while it is not known which node holds the bucket's shards. */
  map(bucketUuid: string): BucketMap | null {
    return (this.#entries.get(mapKey(bucketUuid))?.value as BucketMap | undefined) ?? null;
  }

  /** Revision of the bucket's map; 0 while it is not known. */
  mapRevision(bucketUuid: string): number {
    return this.#revisionOf(mapKey(bucketUuid));
  }

  /** Revisions are compared within an epoch of the store. */
  get revisionEpoch(): number {
    return this.cluster.revEpoch ?? 1;
  }

  /** The settings under one name, with defaults for values never set. */
  setting<T extends object>(name: string, defaults: T): T {
    const stored = this.#entries.get(settingsPrefix + name)?.value as Partial<T> | undefined;
    return { ...defaults, ...stored };
  }

  /** Increases with every change that clients of this bucket can see; never decreases, also across restarts. */
  bucketRevision(bucketUuid: string): number {
    const ofBucket = [manifestKey(bucketUuid), mapKey(bucketUuid)].map((key) => this.#revisionOf(key));
    return Math.max(this.clusterRevision(), ...ofBucket);
  }

  /** Increases with every change of nodes or buckets. */
  clusterRevision(): number {
    return Math.max(this.#revisionOf(clusterKey), this.#revisionOf(bucketsKey));
  }

  /** How many changes this view has seen. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /** Revision of the newest entry seen, of any key. */
  latestRevision(): number {
    return Math.max(0, ...[...this.#entries.values()].map((entry) => entry.revision));
  }

  onChange(listener: () => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }

  #revisionOf(key: string): number {
    return this.#entries.get(key)?.revision ?? 0;
  }

  #changed(key: string, entry: Entry | null): void {
    const cluster = key === clusterKey ? (entry?.value as ClusterState | undefined) : undefined;
    if (cluster !== undefined && !cluster.nodes.some(({ uuid }) => uuid === this.#nodeId)) {
      if (cluster.left?.includes(this.#nodeId)) this.#removed();
      // The view keeps the older entry, which has this node: `self` needs one.
      if (this.#entries.has(clusterKey)) return;
    }
    if (entry) this.#entries.set(key, entry);
    else this.#entries.delete(key);
    this.#changeCount++;
    for (const listener of [...this.#listeners]) listener();
  }
}

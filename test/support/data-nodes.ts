// Data services of several nodes in the thread of a test, connected over TLS, with a map that they share.

import { realKdf } from '#auth/kdf.host.ts';
import { type ClusterLayout, ClusterRoutes } from '#client/cluster-routes.ts';
import { MapWriter } from '#cluster/agent/map-writer.ts';
import { wantedShards } from '#cluster/agent/wanted-shards.ts';
import { type BucketMap, mapKey } from '#cluster/config/cluster-state.ts';
import type { KvDesired, PeerTls } from '#kv/admin.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { DataService } from '#kv/host/data-service.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { update } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aBucket, aDesired } from './data-service.ts';
import { aNodeAuthority } from './node-authority.ts';
import { eventually } from './node-process.ts';
import { addressOf, adminAccount } from './wire-clients.ts';

const shardCount = 64;
const bucket = aBucket('b', { type: 'ephemeral', evictionPolicy: 'noEviction' });

export interface DataNode {
  readonly id: string;
  readonly service: DataService;
  readonly port: number;
  readonly replicationPort: number;
}

/** Bucket `b` without copies. The first node is the active of the first shard, the second one of the second, and so on. */
export class DataNodes implements AsyncDisposable {
  readonly nodes: DataNode[] = [];
  readonly store = new MemoryConfigStore();
  private readonly tls = new Map<string, PeerTls>();
  private readonly watches: { stop(): void }[] = [];
  private map: BucketMap;
  readonly issue: (node: string) => Promise<PeerTls>;

  private constructor(ids: readonly string[], issue: (node: string) => Promise<PeerTls>) {
    this.issue = issue;
    const shards = Array.from({ length: shardCount }, (_, shard) => ({
      epoch: 1,
      chain: [shard % ids.length],
    }));
    this.map = { nodes: [...ids], shards };
  }

  static async start(ids: readonly string[] = ['a', 'c']): Promise<DataNodes> {
    const cluster = new DataNodes(ids, await aNodeAuthority());
    await cluster.store.put(mapKey(bucket.uuid), cluster.map, 0);
    for (const id of ids) await cluster.startNode(id);
    for (const node of cluster.nodes) await cluster.follow(node);
    return cluster;
  }

  /** The routes to the nodes' data ports as the services of `node` get them. They change with the map. */
  routes(node = this.nodes[0] as DataNode): ClusterRoutes {
    const routes = new ClusterRoutes(this.stateOf(node));
    void this.store
      .watch(mapKey(bucket.uuid), () => routes.set(this.stateOf(node)))
      .then((watch) => this.watches.push(watch));
    return routes;
  }

  accessOf(node = this.nodes[0] as DataNode) {
    return { address: addressOf(node.port), account: adminAccount, bucket: 'b' };
  }

  /** Makes another node the active of a shard, without the documents, as after an unsafe failover. */
  async move(shard: number, to: string): Promise<void> {
    const { value } = await update(this.store, mapKey(bucket.uuid), this.map, (map) => ({
      ...map,
      shards: map.shards.map((placement, index) =>
        index === shard ? { epoch: placement.epoch + 1, chain: [map.nodes.indexOf(to)] } : placement,
      ),
    }));
    this.map = value;
  }

  /** Names another node as the active of a shard although only the present one is in sync: the new one has to wait. */
  async nameTooEarly(shard: number, to: string): Promise<void> {
    await update(this.store, mapKey(bucket.uuid), this.map, (map) => ({
      ...map,
      shards: map.shards.map((placement, index) => {
        const [active = -1] = placement.chain;
        const inSync = [[active, `boot of ${map.nodes[active]}`]] as const;
        const chain = [map.nodes.indexOf(to)];
        return index === shard ? { ...placement, epoch: placement.epoch + 1, chain, inSync } : placement;
      }),
    }));
  }

  /** Makes another node the active of a shard, with the documents, as a rebalance does. */
  async handOver(shard: number, to: string): Promise<void> {
    const place = (chainOf: (chain: readonly number[]) => number[], epochStep: 0 | 1) =>
      update(this.store, mapKey(bucket.uuid), this.map, (map) => ({
        ...map,
        shards: map.shards.map((placement, index) =>
          index === shard
            ? { ...placement, epoch: placement.epoch + epochStep, chain: chainOf(placement.chain) }
            : placement,
        ),
      }));
    const target = this.map.nodes.indexOf(to);
    await place((chain) => [...chain, target], 0);
    const positionsOf = async (node: number) =>
      JSON.stringify((await this.nodes[node]?.service.shardPositions(bucket.uuid))?.[shard]);
    await eventually(async () => {
      const source = this.map.shards[shard]?.chain[0] ?? -1;
      const [from, copied] = await Promise.all([positionsOf(source), positionsOf(target)]);
      if (from === 'null' || from !== copied) throw new Error(`${copied} is not ${from}`);
      // Only a member in sync may become active.
      const isInSync = this.map.shards[shard]?.inSync?.some(([node]) => node === target) === true;
      if (!isInSync) throw new Error(`${to} is not in sync`);
    });
    await place(() => [target], 1);
  }

  stateOf(node: DataNode): ClusterLayout {
    const active = this.map.shards.map(({ chain }) => this.map.nodes[chain[0] ?? -1] ?? null);
    return {
      self: node.id,
      tls: this.tls.get(node.id) as PeerTls,
      nodes: this.peersOf(node),
      actives: { b: active },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const watch of this.watches) watch.stop();
    await Promise.all(this.nodes.map(({ service }) => service.stop()));
  }

  private peersOf(node: DataNode) {
    return this.nodes
      .filter(({ id }) => id !== node.id)
      .map(({ id, replicationPort }) => ({ node: id, host: '127.0.0.1', port: replicationPort }));
  }

  private async startNode(id: string): Promise<void> {
    const writer = new MapWriter({
      store: this.store,
      clock: realClock,
      identity: { nodeId: id, bootId: `boot of ${id}` },
    });
    const service: DataService = new DataService({
      clock: realClock,
      random: realRandom,
      log: silentLog,
      kdf: realKdf,
      disk: new MemoryDisk().engine(),
      handles: { data: 65_000, rest: 8_192 },
      askMapChange: ({ id: call, change }) =>
        void writer.change(change).then((outcome) => service.answerMapChange(call, outcome)),
    });
    this.tls.set(id, await this.issue(id));
    const { port, replicationPort = 0 } = await service.start({
      dataDir: '/data',
      host: '127.0.0.1',
      port: 0,
      tlsPort: 0,
      replicationPort: 0,
      version: '7.1.0-test',
      logLevel: 'silent',
    });
    this.nodes.push({ id, service, port, replicationPort });
  }

  private async follow(node: DataNode): Promise<void> {
    const apply = async (map: BucketMap, mapRevision: number): Promise<void> => {
      await node.service.apply(this.desiredOf(node, map, mapRevision));
    };
    const watch = await this.store.watch(mapKey(bucket.uuid), (_, entry) => {
      if (entry === null) return;
      this.map = entry.value as BucketMap;
      void apply(this.map, entry.revision).catch(() => {}); // fails if the node is stopping
    });
    this.watches.push(watch);
    await eventually(async () => {
      const { buckets } = await node.service.report();
      if (buckets[0]?.state !== 'ready') throw new Error('the bucket is not ready');
    });
  }

  private desiredOf(node: DataNode, map: BucketMap, mapRevision: number): KvDesired {
    return aDesired({
      buckets: [{ ...bucket, shards: wantedShards(map, node.id), mapRevision }],
      cluster: {
        self: { node: node.id, boot: `boot of ${node.id}` },
        peers: this.peersOf(node),
        tls: this.tls.get(node.id) as PeerTls,
      },
    });
  }
}

// A bucket's map that the nodes of a simulation share: each sees it a little later, and changes it as its agent would.

import { MapWriter } from '#cluster/agent/map-writer.ts';
import { wantedShards } from '#cluster/agent/wanted-shards.ts';
import { type BucketMap, mapKey, type ShardPlacement } from '#cluster/config/cluster-state.ts';
import { failoverMap } from '#cluster/orchestrator/failover-map.ts';
import { advance, isComplete, startMoves } from '#cluster/orchestrator/shard-moves.ts';
import { lastActiveAfter } from '#cluster/topology/promoted-shard.ts';
import type { ShardSpec } from '#kv/admin.ts';
import { update } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import type { SimulatedClock } from './simulated-clock.ts';

const key = mapKey('b');

export class SharedMap {
  readonly store = new MemoryConfigStore();
  readonly #clock: SimulatedClock;
  readonly #first: BucketMap;

  constructor(clock: SimulatedClock, map: BucketMap) {
    this.#clock = clock;
    this.#first = map;
    void this.store.put(key, map, 0);
  }

  writer(nodeId: string, bootId: string): MapWriter {
    return new MapWriter({ store: this.store, clock: this.#clock, identity: { nodeId, bootId } });
  }

  async shards(): Promise<readonly ShardPlacement[]> {
    return (await this.store.get<BucketMap>(key))?.value.shards ?? [];
  }

  /** Does what the orchestrator does to name another active: the in-sync set does not change. */
  async nameActive(shard: number, node: string): Promise<void> {
    await update(this.store, key, this.#first, (map) => {
      const shards = map.shards.map((placement, index) => {
        if (index !== shard) return placement;
        const { confirmed: _, lastActive: __, ...rest } = placement;
        const last = lastActiveAfter(placement, map.nodes[placement.chain[0] ?? -1]);
        const position = map.nodes.indexOf(node);
        const chain = [position, ...placement.chain.filter((other) => other !== position)];
        return { ...rest, ...last, epoch: placement.epoch + 1, chain };
      });
      return { ...map, shards };
    });
  }

  /** Does what an operator does who fails a node over with `allowUnsafe` after these other nodes have restarted. */
  async failOver(failed: string, restarted: readonly string[]): Promise<void> {
    const hasRestarted = (node: string): boolean => restarted.includes(node);
    const options = { failed: [failed], allowUnsafe: true, hasRestarted };
    await update(this.store, key, this.#first, (map) => failoverMap(map, options).map);
  }

  /** Places a shard that has no copy any more on a node, as a rebalance does: the node serves it without documents. */
  async placeAnew(shard: number, node: string): Promise<void> {
    await update(this.store, key, this.#first, (map) => {
      const shards = map.shards.map((placement, index) =>
        index === shard ? { epoch: placement.epoch + 1, chain: [map.nodes.indexOf(node)] } : placement,
      );
      return { ...map, shards };
    });
  }

  /** Gives the shard copies on these nodes only; others are no members any more. */
  async place(shard: number, chain: readonly number[]): Promise<void> {
    await update(this.store, key, this.#first, (map) => {
      const shards = map.shards.map((placement, index) => {
        const inSync = placement.inSync?.filter(([position]) => chain.includes(position));
        return index === shard ? { ...placement, chain, ...(inSync && { inSync }) } : placement;
      });
      return { ...map, shards };
    });
  }

  /** Gives the shards the goals of a rebalance. */
  async move(chains: readonly (readonly number[])[], plan: string): Promise<void> {
    await update(this.store, key, this.#first, (map) => {
      const shards = chains.map((chain) => ({ epoch: 1, chain }));
      return startMoves(map, { nodes: map.nodes, shards }, plan);
    });
  }

  /** Takes the due steps of its moves until none is left, as the orchestrator does. */
  async orchestrate(everyMs = 250, movesPerNode = 4): Promise<void> {
    for (;;) {
      const entry = await this.store.get<BucketMap>(key);
      const next = entry && advance(entry.value, movesPerNode);
      if (entry && next) await this.store.put(key, next, entry.revision);
      else if (entry && isComplete(entry.value)) return;
      await this.#clock.sleep(everyMs);
    }
  }

  watch(node: string, changed: (specs: readonly ShardSpec[], revision: number) => void) {
    return this.store.watch(key, (_, entry) => {
      if (entry === null) return;
      const specs = wantedShards(entry.value as BucketMap, node);
      this.#clock.after(1, () => changed(specs, entry.revision));
    });
  }
}

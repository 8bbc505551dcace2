// Takes the snapshots that node records are made from.
import type { Context } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService } from '../config/data-service.ts';
import type { Product } from '../config/product.ts';
import type { NodeSnapshot, StableNodeSnapshot } from './node-record.ts';
import type { System } from './system.ts';

export interface NodeSnapshotsDeps {
  view: ClusterView;
  data: DataService;
  system: System;
  product: Product;
  clock: Clock;
}

export class NodeSnapshots {
  readonly #deps: NodeSnapshotsDeps;
  readonly #startedMs: number;

  constructor(deps: NodeSnapshotsDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
  }

  async now(context: Context): Promise<NodeSnapshot> {
    const { data, system, clock } = this.#deps;
    const [figures] = await Promise.all([system.figures(), data.refresh()]);
    const uptimeSeconds = (clock.monotonicMs() - this.#startedMs) / 1000;
    return { ...this.stable(context), uptimeSeconds, system: figures };
  }

  /** Only the fields that change with the configuration. */
  stable(context: Context): StableNodeSnapshot {
    const { view, data, system, product } = this.#deps;
    const measured = new Map(
      view.liveBuckets().map((bucket) => [bucket.uuid, data.measured(bucket.uuid)] as const),
    );
    return { node: view.self, product, os: system.os, localAddress: context.local.address, measured };
  }
}

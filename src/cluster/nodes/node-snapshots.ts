// Takes the snapshots that node records are made from: of this node, and of the others as they answered last.
import type { Context } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService } from '../config/data-service.ts';
import type { Product } from '../config/product.ts';
import { groupOfNode } from '../server-groups/groups.ts';
import type { NodeFigures, OwnFigures } from './node-figures.ts';
import type { NodeSnapshot, StableNodeSnapshot } from './node-record.ts';
import { noFigures, type System } from './system.ts';

export interface NodeSnapshotsDeps {
  view: ClusterView;
  data: DataService;
  system: System;
  product: Product;
  clock: Clock;
  nodeFigures: Pick<NodeFigures, 'known' | 'refresh'>;
}

export class NodeSnapshots {
  readonly #deps: NodeSnapshotsDeps;
  readonly #startedMs: number;

  constructor(deps: NodeSnapshotsDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
  }

  /** All nodes in the order of the configuration, with new figures of those that answer in time: of all buckets, or of one. */
  async all(context: Context, bucketUuid?: string): Promise<NodeSnapshot[]> {
    const { view, nodeFigures, data, system } = this.#deps;
    const [figures] = await Promise.all([
      system.figures(),
      data.refresh(bucketUuid),
      ...(view.cluster.nodes.length > 1 ? [nodeFigures.refresh()] : []),
    ]);
    return view.cluster.nodes.map((node) =>
      node === view.self
        ? { ...this.stable(context, bucketUuid), uptimeSeconds: this.#uptimeSeconds(), system: figures }
        : this.#other(node, context, bucketUuid),
    );
  }

  /** What this node reports about itself to the others. */
  async ownFigures(): Promise<OwnFigures> {
    const { data, system, product, view } = this.#deps;
    const [figures] = await Promise.all([system.figures(), data.refresh()]);
    const measured = view.isActive
      ? view.liveBuckets().map(({ uuid }) => [uuid, data.measured(uuid)] as const)
      : [];
    return {
      version: product.version,
      os: system.os,
      uptimeSeconds: this.#uptimeSeconds(),
      system: figures,
      measured: Object.fromEntries(measured),
    };
  }

  /** This node without its uptime and the figures of its machine; with those of all buckets, or of one. */
  stable(context: Context, bucketUuid?: string): StableNodeSnapshot {
    const { view, data, system, product } = this.#deps;
    const buckets = view.isActive ? this.#uuids(bucketUuid) : [];
    const measured = new Map(buckets.map((uuid) => [uuid, data.measured(uuid)] as const));
    return {
      node: view.self,
      version: product.version,
      os: system.os,
      measured,
      serverGroup: this.#groupOf(view.self),
      localAddress: context.local.address,
      isThis: true,
      isAnswering: true,
    };
  }

  /** All nodes, this one without its uptime and the figures of its machine. */
  allStable(context: Context, bucketUuid?: string): StableNodeSnapshot[] {
    const { view } = this.#deps;
    return view.cluster.nodes.map((node) =>
      node === view.self ? this.stable(context, bucketUuid) : this.#other(node, context, bucketUuid),
    );
  }

  #uuids(bucketUuid: string | undefined): string[] {
    return bucketUuid === undefined ? this.#deps.view.liveBuckets().map(({ uuid }) => uuid) : [bucketUuid];
  }

  #other(node: NodeState, context: Context, bucketUuid: string | undefined): NodeSnapshot {
    const { nodeFigures, product } = this.#deps;
    const { figures, problem } = nodeFigures.known(node.uuid);
    const buckets = node.membership === 'active' ? this.#uuids(bucketUuid) : [];
    return {
      node,
      localAddress: context.local.address,
      isThis: false,
      isAnswering: problem === null && node.joining !== true,
      version: figures?.version ?? product.version,
      os: figures?.os ?? '',
      serverGroup: this.#groupOf(node),
      uptimeSeconds: figures?.uptimeSeconds ?? 0,
      system: figures?.system ?? noFigures,
      measured: new Map(buckets.map((uuid) => [uuid, figures?.measured[uuid] ?? null] as const)),
    };
  }

  #groupOf(node: NodeState): string | null {
    const { view, product } = this.#deps;
    return product.edition === 'enterprise' ? groupOfNode(view.cluster, node).name : null;
  }

  #uptimeSeconds(): number {
    return (this.#deps.clock.monotonicMs() - this.#startedMs) / 1000;
  }
}

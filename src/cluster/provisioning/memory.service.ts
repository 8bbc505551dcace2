// Cluster name and memory of services.

import type { Form } from '#contract/route.ts';
import { bucketQuotasMb } from '../buckets/bucket-rules/read-bucket.ts';
import type { BucketsStore } from '../buckets/buckets.store.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import { type BucketsState, isDataNode, type NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { FormReader } from '../forms/form-reader.ts';
import type { NodeFigures } from '../nodes/node-figures.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import {
  defaultQuotasMb,
  nodeQuotaMaxMb,
  type QuotaName,
  quotaMbMax,
  quotaMinimaMb,
  quotaNames,
  quotaServices,
} from './quotas.ts';

/** Fields of the pool, as the REST API names the cluster. */
export const poolFields = ['clusterName', ...quotaNames];

const clusterNameMax = 256;

export interface PoolChanges {
  clusterName?: string;
  quotas: Partial<Record<QuotaName, number>>;
}

export interface MemoryDeps {
  view: ClusterView;
  cluster: ClusterStore;
  buckets: BucketsStore;
  /** Memory that this node may use, in bytes: the container's limit if there is one. */
  memoryBytes: () => number;
  /** What the other nodes have reported. */
  nodeFigures: Pick<NodeFigures, 'known'>;
}

export class MemoryService {
  readonly #deps: MemoryDeps;

  constructor(deps: MemoryDeps) {
    this.#deps = deps;
  }

  async changePool(form: Form, justValidate: boolean): Promise<void> {
    const reader = new FormReader(form);
    reader.requireAnyField();
    reader.only(poolFields);
    const changes = this.read(reader);
    reader.refuseIfInvalid();
    if (!justValidate) await this.apply(changes);
  }

  /** Reads name and quotas from a form; problems go to the reader. */
  read(reader: FormReader): PoolChanges {
    const quotas: Partial<Record<QuotaName, number>> = {};
    for (const name of quotaNames) {
      const quotaMb = reader.integer(name, Number.NEGATIVE_INFINITY, quotaMbMax);
      if (quotaMb === undefined) continue;
      const problem = this.#tooLow(name, quotaMb, this.#deps.view.buckets);
      if (problem !== null) reader.problems.add(name, problem);
      quotas[name] = quotaMb;
    }
    const tooHigh = quotas.memoryQuota === undefined ? null : this.#tooHigh(quotas.memoryQuota);
    if (tooHigh !== null && !reader.problems.any) reader.problems.add('_', tooHigh);
    const clusterName = reader.text('clusterName');
    if (clusterName !== undefined && clusterName.length > clusterNameMax)
      reader.problems.add('clusterName', `The name must have at most ${clusterNameMax} characters`);
    return { quotas, ...(clusterName !== undefined && { clusterName }) };
  }

  async apply({ clusterName, quotas }: PoolChanges): Promise<void> {
    const { memoryQuota, ...others } = quotas;
    if (memoryQuota !== undefined) {
      await this.#deps.buckets.change((state) => {
        const problem = this.#tooLow('memoryQuota', memoryQuota, state);
        if (problem !== null) throw nodeRefusals.invalidMemory({ problem });
        return { ...state, memoryQuotaMb: memoryQuota };
      });
    }
    if (clusterName === undefined && Object.keys(others).length === 0) return;
    await this.#deps.cluster.change((state) => ({
      ...state,
      name: clusterName ?? state.name,
      quotas: { ...state.quotas, ...others },
    }));
  }

  /** Applies the defaults, for a cluster without chosen quotas. */
  async applyDefaults(): Promise<void> {
    await this.apply({ quotas: defaultQuotasMb(this.#deps.memoryBytes()) });
  }

  #tooLow(name: QuotaName, quotaMb: number, state: BucketsState): string | null {
    const minMb = Math.max(quotaMinimaMb[name], name === 'memoryQuota' ? bucketQuotasMb(state, null) : 0);
    if (quotaMb >= minMb) return null;
    const text = `The ${quotaServices[name]} service quota (${quotaMb}MB) cannot be less than ${minMb}MB`;
    const allowed = ` (current total buckets quota, or at least ${quotaMinimaMb.memoryQuota}MB)`;
    return `${text}${name === 'memoryQuota' ? allowed : ''}.`;
  }

  /** The problem of a quota that exceeds the memory of a data node: only the quota of the data service is compared with it. */
  #tooHigh(memoryQuotaMb: number): string | null {
    for (const node of this.#deps.view.cluster.nodes.filter(isDataNode)) {
      const bytes = this.#memoryBytesOf(node);
      const maxMb = bytes === null ? Number.POSITIVE_INFINITY : nodeQuotaMaxMb(bytes);
      if (memoryQuotaMb > maxMb)
        return `Total quota (${memoryQuotaMb}MB) exceeds the maximum allowed quota (${maxMb}MB) on node '${node.otpNode}'`;
    }
    return null;
  }

  /** Null: the node has not answered yet. */
  #memoryBytesOf({ uuid }: NodeState): number | null {
    const { memoryBytes, nodeFigures, view } = this.#deps;
    if (uuid === view.self.uuid) return memoryBytes();
    return nodeFigures.known(uuid).figures?.system.memory.limit ?? null;
  }
}

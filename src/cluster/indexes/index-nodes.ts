// The index services of all nodes: each has every index, over the documents of all nodes, so that a statement scans the files of its own node.
import type { IndexReport, IndexServiceAdmin, IndexState } from '#index/index.contract.ts';
import type { Clock } from '#ports/clock.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { until } from '../config/until.ts';
import type { Peers } from '../peers/peers.ts';
import { type IndexesService, keepsIndexes } from './indexes.service.ts';

export interface IndexNodesDeps {
  readonly view: ClusterView;
  readonly nodeId: string;
  readonly peers: Pick<Peers, 'ask' | 'answer'>;
  readonly indexes: Pick<IndexesService, 'all' | 'onChange'>;
  readonly indexAdmin: IndexServiceAdmin;
  /** Whether a node sends no heartbeats: it is not asked. */
  readonly isDown: (nodeId: string) => boolean;
  readonly clock: Clock;
}

/** What is known of an index on one node. */
export interface IndexOnNode {
  readonly node: NodeState;
  readonly state: IndexState;
  readonly progress: number;
  /** Absent: the node has an earlier version, which does not report it. */
  readonly lastScanMs?: number;
}

interface IndexesRequest {
  readonly ids: readonly string[];
  readonly timeoutMs: number;
}

/** What a node answers about one of its indexes. */
type StateAnswer = Pick<IndexReport, 'id' | 'state' | 'progress'> & Partial<Pick<IndexReport, 'lastScanMs'>>;

/** How long a node waits before it answers that it is not ready. */
const readyTimeoutMs = 5_000;
/** The time that the answer may need to arrive. */
const marginMs = 2_000;
const askTimeoutMs = 2_000;
/** How long `CREATE INDEX` waits for other nodes at most: a large build continues after its answer. */
const otherNodesMs = 120_000;
/** The configuration reaches a node within this time: an index that it does not know then was dropped. */
const unknownIndexTimeoutMs = 2_000;

export class IndexNodes {
  readonly #deps: IndexNodesDeps;

  constructor(deps: IndexNodesDeps) {
    this.#deps = deps;
    const { peers, indexAdmin } = deps;
    peers.answer('indexesReady', (request: IndexesRequest) => this.#ready(request));
    peers.answer('indexesGone', (request: IndexesRequest) => this.#gone(request));
    peers.answer('indexStates', async () => {
      await indexAdmin.refresh();
      const reports = indexAdmin.reports();
      return reports.map(
        ({ id, state, progress, lastScanMs }): StateAnswer => ({ id, state, progress, lastScanMs }),
      );
    });
  }

  /** Resolves when no other node that this one reaches is building one of these indexes, or after two minutes. */
  async readyOnOtherNodes(ids: readonly string[]): Promise<void> {
    const { clock, peers } = this.#deps;
    const endMs = clock.monotonicMs() + otherNodesMs;
    const request: IndexesRequest = { ids, timeoutMs: readyTimeoutMs };
    await Promise.all(
      this.#others().map(async ({ uuid }) => {
        while (clock.monotonicMs() < endMs) {
          // A node that does not answer must not delay the statement: it builds the index once it runs again.
          const answer = peers.ask<boolean>(uuid, 'indexesReady', request, readyTimeoutMs + marginMs);
          if (await answer.catch(() => true)) return;
        }
      }),
    );
  }

  /** Resolves when the other nodes that are reached plan statements without these indexes, which were dropped, and show them no more. */
  async goneFromOtherNodes(ids: readonly string[]): Promise<void> {
    const request: IndexesRequest = { ids, timeoutMs: unknownIndexTimeoutMs };
    const asking = this.#others().map(({ uuid }) =>
      // A node that does not answer reads the drop from the configuration once it runs again.
      this.#deps.peers
        .ask<boolean>(uuid, 'indexesGone', request, unknownIndexTimeoutMs + marginMs)
        .catch(() => false),
    );
    await Promise.all(asking);
  }

  /** By index, the other nodes that have it. */
  async onOtherNodes(): Promise<ReadonlyMap<string, readonly IndexOnNode[]>> {
    const { peers } = this.#deps;
    const found = await Promise.all(
      this.#others().map(async (node) => {
        const states = await peers
          .ask<StateAnswer[]>(node.uuid, 'indexStates', null, askTimeoutMs)
          .catch(() => []);
        return states.map((state) => ({ ...state, node }));
      }),
    );
    return Map.groupBy(found.flat(), ({ id }) => id);
  }

  #others(): NodeState[] {
    const { view, nodeId, isDown } = this.#deps;
    return view.cluster.nodes.filter(
      (node) =>
        node.uuid !== nodeId && node.membership === 'active' && keepsIndexes(node) && !isDown(node.uuid),
    );
  }

  async #gone({ ids, timeoutMs }: IndexesRequest): Promise<boolean> {
    const { clock, indexes } = this.#deps;
    const isGone = (): boolean => !indexes.all().some(({ definition }) => ids.includes(definition.id));
    return await until(indexes, isGone, timeoutMs, clock);
  }

  async #ready({ ids, timeoutMs }: IndexesRequest): Promise<boolean> {
    const { clock, indexes, indexAdmin } = this.#deps;
    const startMs = clock.monotonicMs();
    const changing = {
      onChange(listener: () => void) {
        const subscriptions = [indexes.onChange(listener), indexAdmin.onChange(listener)];
        return { stop: () => subscriptions.forEach((subscription) => void subscription.stop()) };
      },
    };
    const isReady = (id: string): boolean => {
      const wanted = indexes.all().find(({ definition }) => definition.id === id);
      if (wanted === undefined) return clock.monotonicMs() - startMs > unknownIndexTimeoutMs;
      const report = indexAdmin.reports().find((candidate) => candidate.id === id);
      return !wanted.isBuilt || report?.state === 'online' || report?.state === 'offline';
    };
    // Checks again at the end: an index that this node does not know may have no change that would end the wait.
    return (await until(changing, () => ids.every(isReady), timeoutMs, clock)) || ids.every(isReady);
  }
}

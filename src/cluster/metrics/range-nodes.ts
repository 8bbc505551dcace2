// The nodes that range queries read: this one, and the others through the ports between nodes. A node evaluates a query itself, so that rows
// and not samples are sent.
import type { Context } from '#contract/route.ts';
import { type Plan, planOf } from '#metrics/query/plan.ts';
import {
  type NodeRows,
  packRows,
  type RangeCaller,
  type RangeNode,
  type RowsMessage,
  unpackRows,
} from '#metrics/range/node-rows.ts';
import { RangeBudget, RefusedQueryError } from '#metrics/range/range-budget.ts';
import { keyspaceKey, RangeEvaluator, type RangeSource } from '#metrics/range/range-evaluator.ts';
import type { RangeRequest } from '#metrics/range/range-request.ts';
import type { Labels } from '#metrics/sample.ts';
import type { Clock } from '#ports/clock.ts';
import { nodeNames, type StableNodeSnapshot } from '../nodes/node-record.ts';
import type { NodeSnapshots } from '../nodes/node-snapshots.ts';
import type { Peers } from '../peers/peers.ts';

export interface RangeNodesDeps {
  readonly source: RangeSource;
  readonly snapshots: Pick<NodeSnapshots, 'stable' | 'allStable'>;
  readonly peers: Pick<Peers, 'ask' | 'answer'>;
  readonly clock: Clock;
}

/** The request of one node to another. */
interface RangeQuestion {
  readonly request: RangeRequest;
  /** The keys of the keyspaces whose series the caller may read; null: all series. */
  readonly keyspaces: readonly string[] | null;
}

/** Added to the time limit of the query, for sending the request and the answer. */
const marginMs = 1_000;

export class RangeNodes {
  readonly #deps: RangeNodesDeps;
  readonly #evaluator: RangeEvaluator;

  constructor(deps: RangeNodesDeps) {
    this.#deps = deps;
    this.#evaluator = new RangeEvaluator(deps);
    deps.peers.answer('metricsRange', (question: RangeQuestion) => this.#rowsFor(question));
    deps.peers.answer('metricsKeyspaces', (request: RangeRequest) => this.#keyspacesOf(request));
  }

  /** This node, then the other active ones. */
  nodesFor(context: Context): [RangeNode, ...RangeNode[]] {
    const { snapshots } = this.#deps;
    const others = snapshots
      .allStable(context)
      .filter(({ node, isThis }) => !isThis && node.membership === 'active');
    return [this.#ownNode(snapshots.stable(context)), ...others.map((other) => this.#otherNode(other))];
  }

  #ownNode(snapshot: StableNodeSnapshot): RangeNode {
    const rows = (request: RangeRequest, plan: Plan, caller: RangeCaller) =>
      this.#evaluator.rows(request, plan, caller);
    return { ...namesOf(snapshot), rows };
  }

  #otherNode(snapshot: StableNodeSnapshot): RangeNode {
    const rows = async (request: RangeRequest, _: Plan, caller: RangeCaller): Promise<NodeRows> => {
      if (!snapshot.isAnswering) throw new RefusedQueryError('Node is down');
      const { uuid } = snapshot.node;
      const keyspaces = caller.seesAll ? null : await this.#readableKeyspaces(uuid, request, caller);
      const found = unpackRows(
        await this.#ask<RowsMessage>(uuid, 'metricsRange', request, { request, keyspaces }),
        request,
      );
      caller.budget.spend(
        'values',
        found.lists.flat().reduce((sum, { has }) => sum + has.length, 0),
      );
      return found;
    };
    return { ...namesOf(snapshot), rows };
  }

  /** Asks the node for the keyspaces of its series, and returns those that the caller may read: the other node does not know the caller. */
  async #readableKeyspaces(uuid: string, request: RangeRequest, caller: RangeCaller): Promise<string[]> {
    const found = await this.#ask<Labels[]>(uuid, 'metricsKeyspaces', request, request);
    return found.filter((labels) => caller.visible(labels)).map(keyspaceKey);
  }

  #ask<Value>(uuid: string, name: string, { timeoutMs }: RangeRequest, body: unknown): Promise<Value> {
    return this.#deps.peers.ask<Value>(uuid, name, body, timeoutMs + marginMs);
  }

  async #rowsFor({ request, keyspaces }: RangeQuestion): Promise<RowsMessage> {
    const readable = keyspaces === null ? null : new Set(keyspaces);
    const visible = (labels: Labels) => readable?.has(keyspaceKey(labels)) ?? true;
    try {
      const rows = await this.#limited(request, (plan, budget) =>
        this.#evaluator.rows(request, plan, { visible, budget }),
      );
      return packRows(rows);
    } catch (error) {
      if (!(error instanceof RefusedQueryError)) throw error;
      return { lists: [], problems: [error.message], explanations: [] };
    }
  }

  #keyspacesOf(request: RangeRequest): Promise<Labels[]> {
    return this.#limited(request, (plan, budget) =>
      this.#evaluator.keyspaces(request, plan, { visible: () => true, budget }),
    );
  }

  /** Work for another node: it ends with the time limit of the query, after which no request waits for it. */
  async #limited<T>(
    { functions, timeoutMs }: RangeRequest,
    work: (plan: Plan, budget: RangeBudget) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#deps;
    const plan = planOf(functions);
    if ('problem' in plan) throw new RefusedQueryError(plan.problem);
    const end = new AbortController();
    const timer = clock.after(timeoutMs, () => end.abort());
    try {
      return await work(plan, new RangeBudget({ clock, signal: end.signal }));
    } finally {
      timer.cancel();
    }
  }
}

function namesOf({ node, localAddress }: StableNodeSnapshot): Pick<RangeNode, 'name' | 'names'> {
  const names = nodeNames(node, localAddress);
  return { name: names[0], names };
}

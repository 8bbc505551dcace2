// The query services of all nodes. Each has its own rows of the system catalog, which a statement on any node reads; and all use the same
// definitions (of functions, for example), which a statement on any node may change.

import type { Clock } from '#ports/clock.ts';
import type {
  OtherQueryNodes,
  OwnQueryNode,
  PreparedText,
  QueryNodeDescription,
  ReplacingStatement,
  RowsOfNodes,
  RowsPage,
} from '#query/query.contract.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { restAddressOf } from '../config/node-network.ts';
import { type ChangeNotifier, until } from '../config/until.ts';
import type { Peers } from '../peers/peers.ts';

export interface QueryNodesDeps {
  readonly view: Pick<ClusterView, 'activeNodes'>;
  readonly nodeId: string;
  readonly peers: Pick<Peers, 'ask' | 'answer'>;
  /** Whether no heartbeats of a node arrive: nothing is requested from it. */
  readonly isDown: (nodeId: string) => boolean;
  readonly clock: Clock;
}

/** Definitions of one kind (functions, for example) in the configuration. */
export interface Definitions extends ChangeNotifier {
  /** The configuration's revision of the newest change that this node knows. */
  readonly revision: number;
}

interface RowsQuestion {
  readonly keyspace: string;
  readonly after: string | null;
}

interface PreparedQuestion {
  readonly name: string;
  readonly queryContext: string;
}

interface KnownQuestion {
  readonly kind: string;
  readonly revision: number;
}

const askTimeoutMs = 5_000;
/** How long a change of a definition waits for the other nodes: a node that does not answer in this time learns of the change later. */
const knownTimeoutMs = 2_000;
/** Added to `knownTimeoutMs` in the timeout of the request: the time for sending request and answer. */
const marginMs = 500;

export class QueryNodes implements OtherQueryNodes {
  readonly #deps: QueryNodesDeps;
  readonly #definitions = new Map<string, Definitions>();
  #own: OwnQueryNode | null = null;

  constructor(deps: QueryNodesDeps) {
    this.#deps = deps;
    const { peers } = deps;
    const none: RowsPage = { rows: [], next: null };
    peers.answer(
      'queryRows',
      ({ keyspace, after }: RowsQuestion) => this.#own?.rows(keyspace, after) ?? none,
    );
    peers.answer(
      'preparedQuery',
      ({ name, queryContext }: PreparedQuestion) => this.#own?.prepared(name, queryContext) ?? null,
    );
    peers.answer('discardPreparedQuery', (replaced: ReplacingStatement) =>
      this.#own?.discardPrepared(replaced),
    );
    peers.answer('removeQueryRows', ({ keyspace, ids }: { keyspace: string; ids: string[] }) =>
      this.#own?.remove(keyspace, ids),
    );
    peers.answer('definitionsKnown', (question: KnownQuestion) => this.#known(question));
  }

  /** Call when this node runs the query service. */
  serve(own: OwnQueryNode): void {
    this.#own = own;
  }

  all(): QueryNodeDescription[] {
    return this.#deps.view.activeNodes.map((node) => ({
      name: restAddressOf(node),
      services: node.services ?? [],
      ports: { ...node.ports },
      isThis: node.uuid === this.#deps.nodeId,
    }));
  }

  async rows(keyspace: string): Promise<RowsOfNodes> {
    const answers = await Promise.all(
      this.#others().map(async (node) => {
        return await this.#page(node, { keyspace, after: null }).then(
          (page) => ({ node: restAddressOf(node), ...page }),
          (error: Error) => ({ node: restAddressOf(node), reason: error.message }),
        );
      }),
    );
    return {
      nodes: answers.filter((answer) => 'rows' in answer),
      failed: answers.filter((answer) => 'reason' in answer),
    };
  }

  async rowsAfter(keyspace: string, name: string, after: string): Promise<RowsPage> {
    return await this.#page(this.#other(name), { keyspace, after });
  }

  async prepared(name: string, queryContext: string): Promise<PreparedText | null> {
    const question: PreparedQuestion = { name, queryContext };
    const asked = this.#up().map(async ({ uuid }) => {
      const { peers } = this.#deps;
      return (
        (await peers.ask<PreparedText | null>(uuid, 'preparedQuery', question, askTimeoutMs)) ?? notThere()
      );
    });
    return await Promise.any(asked).catch(() => null);
  }

  async discardPrepared(replaced: ReplacingStatement): Promise<void> {
    const { peers } = this.#deps;
    // A node that does not answer may still run the earlier statement, as it could have done before the PREPARE.
    const asked = this.#up().map(({ uuid }) =>
      peers.ask(uuid, 'discardPreparedQuery', replaced, askTimeoutMs).catch(() => {}),
    );
    await Promise.all(asked);
  }

  async remove(keyspace: string, name: string, ids: readonly string[]): Promise<void> {
    await this.#deps.peers.ask(this.#other(name).uuid, 'removeQueryRows', { keyspace, ids }, askTimeoutMs);
  }

  async #page(node: NodeState, question: RowsQuestion): Promise<RowsPage> {
    if (this.#deps.isDown(node.uuid)) throw new Error('it sends no heartbeats');
    return await this.#deps.peers.ask<RowsPage>(node.uuid, 'queryRows', question, askTimeoutMs);
  }

  /** @throws Error if the cluster has no such other node */
  #other(name: string): NodeState {
    const node = this.#others().find((other) => restAddressOf(other) === name);
    if (node === undefined) throw new Error('it does not run the query service in this cluster');
    return node;
  }

  /**
   * Makes changes of these definitions wait until the query services of all nodes that answer use them, so that a client
   * may use any of them after its change.
   */
  follow(
    kind: string,
    definitions: Definitions & { knownOnOtherNodes: (revision: number) => Promise<void> },
  ): void {
    this.#definitions.set(kind, definitions);
    definitions.knownOnOtherNodes = async (revision) => {
      const question: KnownQuestion = { kind, revision };
      const asked = this.#up().map(({ uuid }) =>
        // A node that does not answer, or is of an older version, must not delay the statement.
        this.#deps.peers.ask(uuid, 'definitionsKnown', question, knownTimeoutMs + marginMs).catch(() => {}),
      );
      await Promise.all(asked);
    };
  }

  async #known({ kind, revision }: KnownQuestion): Promise<boolean> {
    const definitions = this.#definitions.get(kind);
    if (definitions === undefined) return false;
    const isKnown = () => definitions.revision >= revision;
    if (!(await until(definitions, isKnown, knownTimeoutMs, this.#deps.clock))) return false;
    await this.#own?.caughtUp();
    return true;
  }

  #up(): NodeState[] {
    return this.#others().filter(({ uuid }) => !this.#deps.isDown(uuid));
  }

  #others(): NodeState[] {
    const { view, nodeId } = this.#deps;
    return view.activeNodes.filter(
      ({ uuid, services }) => uuid !== nodeId && services?.includes('n1ql') === true,
    );
  }
}

const notThere = (): never => {
  throw new Error('it has no such statement');
};

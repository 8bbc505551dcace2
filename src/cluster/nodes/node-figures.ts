// Figures of the other nodes of the cluster: requested when a client reads them, and every few seconds to know which nodes answer. Nothing
// runs while this node is alone.
import type { Clock, Timer } from '#ports/clock.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { MeasuredBucket } from '../config/data-service.ts';
import type { ChangeNotifier } from '../config/until.ts';
import type { SystemFigures } from './system.ts';

/** What a node reports about itself. */
export interface OwnFigures {
  readonly version: string;
  readonly os: string;
  readonly uptimeSeconds: number;
  readonly system: SystemFigures;
  /** Figures of buckets by uuid; null before their first report. */
  readonly measured: Readonly<Record<string, MeasuredBucket | null>>;
}

export interface KnownFigures {
  /** The newest ones; null: the node has not answered yet. */
  readonly figures: OwnFigures | null;
  /** Why the node did not answer last; null: it did. */
  readonly problem: string | null;
}

export interface NodeFiguresDeps {
  view: ClusterView;
  nodeId: string;
  ask(nodeId: string, timeoutMs: number): Promise<OwnFigures>;
  clock: Clock;
}

/** Longer than a node needs to answer, and short for clients if a node hangs. */
const askTimeoutMs = 1_500;
/** Readers within this time share one answer. */
const freshMs = 500;
const pollEveryMs = 5_000;
const unknown: KnownFigures = { figures: null, problem: null };

export class NodeFigures implements ChangeNotifier {
  readonly #deps: NodeFiguresDeps;
  readonly #known = new Map<string, KnownFigures & { readonly atMs: number }>();
  readonly #asking = new Map<string, Promise<void>>();
  readonly #listeners = new Set<() => void>();
  #timer: Timer | null = null;
  #watch: { stop(): void } | null = null;

  constructor(deps: NodeFiguresDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#watch = this.#deps.view.onChange(() => this.#follow());
    this.#follow();
  }

  stop(): void {
    this.#watch?.stop();
    this.#timer?.cancel();
    this.#timer = null;
    this.#listeners.clear();
  }

  /** Calls the listener when a node starts or stops answering. */
  onChange(listener: () => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }

  known(nodeId: string): KnownFigures {
    return this.#known.get(nodeId) ?? unknown;
  }

  /** Resolves when every other node has answered, or its time is over. */
  async refresh(): Promise<void> {
    await Promise.all(this.#others().map((nodeId) => this.#refreshOne(nodeId)));
  }

  #others(): string[] {
    const { view, nodeId } = this.#deps;
    return view.cluster.nodes.map(({ uuid }) => uuid).filter((uuid) => uuid !== nodeId);
  }

  #refreshOne(nodeId: string): Promise<void> {
    const atMs = this.#known.get(nodeId)?.atMs ?? Number.NEGATIVE_INFINITY;
    if (this.#deps.clock.monotonicMs() - atMs < freshMs) return Promise.resolve();
    const asking = this.#asking.get(nodeId) ?? this.#ask(nodeId).finally(() => this.#asking.delete(nodeId));
    this.#asking.set(nodeId, asking);
    return asking;
  }

  async #ask(nodeId: string): Promise<void> {
    const { ask, clock } = this.#deps;
    const before = this.known(nodeId);
    let now: KnownFigures;
    try {
      now = { figures: await ask(nodeId, askTimeoutMs), problem: null };
    } catch (error) {
      now = { figures: before.figures, problem: (error as Error).message };
    }
    this.#known.set(nodeId, { ...now, atMs: clock.monotonicMs() });
    const isChanged = (before.problem === null) !== (now.problem === null) || before.figures === null;
    if (isChanged) for (const listener of [...this.#listeners]) listener();
  }

  #follow(): void {
    const others = new Set(this.#others());
    for (const nodeId of this.#known.keys()) if (!others.has(nodeId)) this.#known.delete(nodeId);
    if (others.size > 0 && this.#timer === null && this.#watch !== null) this.#schedulePoll();
  }

  #schedulePoll(): void {
    this.#timer = this.#deps.clock.after(pollEveryMs, () => {
      this.#timer = null;
      void this.refresh().then(() => {
        if (this.#watch !== null && this.#timer === null) this.#follow();
      });
    });
  }
}

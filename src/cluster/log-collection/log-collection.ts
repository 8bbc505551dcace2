// Collects support bundles from nodes in the background, from all of them at the same time. There is one collection at a time; its state is shown in
// the list of tasks.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';

export interface LogCollectionDeps {
  clock: Pick<Clock, 'wallMs'>;
  log: Log;
}

export interface NodeCollection {
  readonly status: 'started' | 'collected' | 'cancelled' | 'failed';
  readonly path?: string;
  /** Why it failed. */
  readonly reason?: string;
  /** Percent. */
  readonly progress: number;
}

export interface LogCollectionState {
  /** The node that was asked for the collection. */
  readonly otpNode: string;
  readonly startedMs: number;
  readonly status: 'running' | 'completed' | 'cancelled';
  readonly perNode: Readonly<Record<string, NodeCollection>>;
}

export interface NodeRun {
  readonly startedMs: number;
  readonly signal: AbortSignal;
  readonly report: (changes: Pick<NodeCollection, 'path'> | Pick<NodeCollection, 'progress'>) => void;
}

export interface CollectionRequest {
  readonly otpNode: string;
  /** By name of a node: writes the bundle of that node and resolves with its path on the node. */
  readonly collectors: Readonly<Record<string, (run: NodeRun) => Promise<string>>>;
}

export class LogCollection {
  readonly #deps: LogCollectionDeps;
  #state: LogCollectionState | null = null;
  #running: { cancel: AbortController; ended: Promise<void> } | null = null;

  constructor(deps: LogCollectionDeps) {
    this.#deps = deps;
  }

  get state(): LogCollectionState | null {
    return this.#state;
  }

  /** False if another collection is running. */
  start(request: CollectionRequest): boolean {
    if (this.#running) return false;
    const startedMs = this.#deps.clock.wallMs();
    const cancel = new AbortController();
    const perNode = Object.fromEntries(
      Object.keys(request.collectors).map((name) => [name, { status: 'started', progress: 0 } as const]),
    );
    this.#state = { otpNode: request.otpNode, startedMs, status: 'running', perNode };
    const ended = this.#run(request, startedMs, cancel.signal).finally(() => {
      this.#running = null;
    });
    this.#running = { cancel, ended };
    return true;
  }

  /** Resolves when nothing is running. */
  async cancel(): Promise<void> {
    this.#running?.cancel.abort();
    await this.#running?.ended;
  }

  async #run({ collectors }: CollectionRequest, startedMs: number, signal: AbortSignal): Promise<void> {
    const collecting = Object.entries(collectors).map(async ([name, collect]) => {
      const report: NodeRun['report'] = (changes) => this.#change(name, changes);
      try {
        const path = await collect({ startedMs, signal, report });
        this.#change(name, { status: 'collected', path, progress: 100 });
      } catch (error) {
        if (signal.aborted) return this.#change(name, { status: 'cancelled' });
        const reason = (error as Error).message;
        this.#deps.log.warn('log_collection.failed', { node: name, reason });
        this.#change(name, { status: 'failed', progress: 100, reason });
      }
    });
    await Promise.all(collecting);
    const status = signal.aborted ? 'cancelled' : 'completed';
    this.#state = { ...(this.#state as LogCollectionState), status };
  }

  #change(name: string, changes: Partial<NodeCollection>): void {
    const { perNode, ...state } = this.#state as LogCollectionState;
    const node = { ...(perNode[name] as NodeCollection), ...changes };
    this.#state = { ...state, perNode: { ...perNode, [name]: node } };
  }
}

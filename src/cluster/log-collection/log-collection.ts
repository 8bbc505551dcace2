// The collection of a support bundle: one at a time, in the background, with its state for the list of tasks.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { BundleEntry, BundleFiles } from './bundle-files.ts';

export interface LogCollectionDeps {
  files: Pick<BundleFiles, 'write'>;
  clock: Pick<Clock, 'wallMs'>;
  log: Log;
}

export interface LogCollectionState {
  readonly otpNode: string;
  readonly path: string;
  readonly startedMs: number;
  readonly status: 'running' | 'completed' | 'cancelled';
  readonly nodeStatus: 'started' | 'collected' | 'cancelled' | 'failed';
  /** Why it failed. */
  readonly reason?: string;
  readonly progress: number;
}

export interface CollectionRequest {
  readonly otpNode: string;
  readonly path: (startedMs: number) => string;
  readonly entries: (signal: AbortSignal) => Promise<readonly BundleEntry[]>;
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

  /** False if one is running. */
  start(request: CollectionRequest): boolean {
    if (this.#running) return false;
    const startedMs = this.#deps.clock.wallMs();
    const cancel = new AbortController();
    this.#state = {
      otpNode: request.otpNode,
      path: request.path(startedMs),
      startedMs,
      status: 'running',
      nodeStatus: 'started',
      progress: 0,
    };
    const ended = this.#run(request, this.#state.path, cancel.signal).finally(() => {
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

  async #run({ entries }: CollectionRequest, path: string, signal: AbortSignal): Promise<void> {
    try {
      const all = await entries(signal);
      let written = 0;
      const done = () => this.#change({ progress: Math.floor((100 * ++written) / all.length) });
      await this.#deps.files.write(path, all, { signal, done });
      this.#change({ status: 'completed', nodeStatus: 'collected', progress: 100 });
    } catch (error) {
      if (signal.aborted) return this.#change({ status: 'cancelled', nodeStatus: 'cancelled' });
      const reason = (error as Error).message;
      this.#deps.log.warn('log_collection.failed', { reason });
      this.#change({ status: 'completed', nodeStatus: 'failed', progress: 100, reason });
    }
  }

  #change(changes: Partial<LogCollectionState>): void {
    this.#state = { ...(this.#state as LogCollectionState), ...changes };
  }
}

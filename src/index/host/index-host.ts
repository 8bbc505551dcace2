// The main thread's side of the index service: starts its thread with the first index, sends it the desired state, and stores its
// reports. It restarts a thread that ends unexpectedly: index files are consistent at any time.
import type { Worker } from 'node:worker_threads';
import { type Deferred, deferred } from '#base/deferred.ts';
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { startWorker } from '#ports/worker.ts';
import type { IndexReport, IndexServiceAdmin, WantedIndexes } from '../index.contract.ts';
import { IndexProgress } from '../shared/index-progress.ts';
import type { IndexThreadCall, IndexThreadData, IndexThreadMessage } from './thread-messages.ts';

export interface IndexHostOptions {
  /** Known once the data port listens. */
  readonly data: () => Promise<IndexThreadData>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A build creates thousands of short-lived keys; with a small young generation V8 would collect garbage continuously. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 };
const restartMs = { first: 100, most: 10_000 } as const;
const reportTimeoutMs = 2_000;
const stopTimeoutMs = 10_000;

export class IndexHost implements IndexServiceAdmin {
  private readonly options: IndexHostOptions;
  private readonly listeners = new Set<() => void>();
  private readonly reportRequests = new Map<number, Deferred<void>>();
  private worker: Worker | null = null;
  private starting: Promise<void> | null = null;
  private wanted: WantedIndexes | null = null;
  private cluster: ClusterLayout | null = null;
  private indexes: readonly IndexReport[] = [];
  private lastId = 0;
  private restartInMs: number = restartMs.first;
  private stopping: Deferred<void> | null = null;

  constructor(options: IndexHostOptions) {
    this.options = options;
  }

  get isRunning(): boolean {
    return this.worker !== null;
  }

  apply(wanted: WantedIndexes): void {
    this.wanted = wanted;
    if (this.worker !== null) this.sendMessage({ kind: 'apply', wanted });
    else if (wanted.indexes.length > 0) this.start();
  }

  /** Sets which nodes have which vbuckets; null: this one has all. */
  followCluster(state: ClusterLayout | null): void {
    if (isSame(state, this.cluster)) return;
    this.cluster = state;
    if (this.worker !== null) this.sendMessage({ kind: 'cluster', state });
  }

  /** Includes the current figures from shared memory. */
  reports(): readonly IndexReport[] {
    return this.indexes.map((report) =>
      report.shared === undefined ? report : { ...report, ...new IndexProgress(report.shared).figures() },
    );
  }

  async refresh(): Promise<void> {
    if (this.worker === null) return;
    const id = ++this.lastId;
    const answer = deferred<void>();
    this.reportRequests.set(id, answer);
    this.sendMessage({ kind: 'report', id });
    // A thread that sorts a large build answers later; its last report is used meanwhile.
    const timer = this.options.clock.after(reportTimeoutMs, () => answer.resolve());
    await answer.promise;
    timer.cancel();
    this.reportRequests.delete(id);
  }

  replaceFile(bucketUuid: string, indexId: string): Promise<void> {
    this.sendMessage({ kind: 'replace file', bucketUuid, indexId });
    return Promise.resolve();
  }

  onChange(listener: () => void): { stop(): void } {
    this.listeners.add(listener);
    return { stop: () => void this.listeners.delete(listener) };
  }

  async stop(): Promise<void> {
    this.stopping ??= deferred<void>();
    await this.starting;
    const { worker } = this;
    if (worker === null) return;
    this.sendMessage({ kind: 'stop' });
    const timer = this.options.clock.after(stopTimeoutMs, () => this.stopping?.resolve());
    await this.stopping.promise;
    timer.cancel();
    await worker.terminate();
  }

  private start(): void {
    this.starting ??= this.startThread().finally(() => {
      this.starting = null;
    });
  }

  private async startThread(): Promise<void> {
    const workerData = await this.options.data();
    if (this.stopping !== null) return;
    const worker = startWorker(new URL('./index-thread', import.meta.url), import.meta.url, {
      name: 'index service',
      workerData,
      resourceLimits,
    });
    worker.on('message', (message: IndexThreadMessage) => this.receive(message));
    worker.on('error', (error) => this.options.log.error('index.thread_failed', { reason: error.stack }));
    worker.on('exit', () => this.ended(worker));
    this.worker = worker;
    this.sendMessage({ kind: 'cluster', state: this.cluster });
    if (this.wanted !== null) this.sendMessage({ kind: 'apply', wanted: this.wanted });
  }

  private sendMessage(call: IndexThreadCall): void {
    this.worker?.postMessage(call);
  }

  private receive(message: IndexThreadMessage): void {
    if (message.kind === 'log') this.options.log[message.level](message.event, message.fields);
    else if (message.kind === 'stopped') this.stopping?.resolve();
    else {
      this.restartInMs = restartMs.first;
      this.indexes = message.indexes;
      if (message.id !== undefined) this.reportRequests.get(message.id)?.resolve();
      for (const listener of [...this.listeners]) listener();
    }
  }

  /** Indexes are offline for queries until the restarted thread follows them. */
  private ended(worker: Worker): void {
    if (this.worker !== worker) return;
    this.worker = null;
    for (const answer of this.reportRequests.values()) answer.resolve();
    this.stopping?.resolve();
    if (this.stopping !== null) return;
    this.indexes = this.indexes.map((report) => ({ ...report, state: 'building' }));
    for (const listener of [...this.listeners]) listener();
    this.options.log.warn('index.thread_restarts', { inMs: this.restartInMs });
    this.options.clock.after(this.restartInMs, () => {
      if (this.stopping === null) this.start();
    });
    this.restartInMs = Math.min(2 * this.restartInMs, restartMs.most);
  }
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

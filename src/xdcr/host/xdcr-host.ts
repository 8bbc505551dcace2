// The main thread's side of replication between clusters: starts the thread with the first replication, sends it the wanted state,
// keeps its reports, and reads and writes checkpoints for it. It restarts a thread that ends unexpectedly.
import type { Worker } from 'node:worker_threads';
import { type Deferred, deferred } from '#base/deferred.ts';
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { startWorker } from '#ports/worker.ts';
import type { CheckpointStore, ReplicationReport, WantedReplication, XdcrAdmin } from '../xdcr.contract.ts';
import type { XdcrThreadCall, XdcrThreadData, XdcrThreadMessage } from './thread-messages.ts';

export interface XdcrHostOptions {
  /** Known once the data port listens. */
  readonly data: () => Promise<XdcrThreadData>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Each version is a few short-lived objects; with a small young generation V8 would collect garbage continuously. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 };
const restartMs = { first: 100, most: 10_000 } as const;
const stopTimeoutMs = 10_000;

export class XdcrHost implements XdcrAdmin {
  private readonly options: XdcrHostOptions;
  private worker: Worker | null = null;
  private starting: Promise<void> | null = null;
  private wanted: readonly WantedReplication[] = [];
  private layout: ClusterLayout | null = null;
  private lastReports: readonly ReplicationReport[] = [];
  private store: CheckpointStore | null = null;
  private restartInMs: number = restartMs.first;
  private stopping: Deferred<void> | null = null;

  constructor(options: XdcrHostOptions) {
    this.options = options;
  }

  useCheckpoints(store: CheckpointStore): void {
    this.store = store;
  }

  apply(wanted: readonly WantedReplication[]): void {
    this.wanted = wanted;
    const ids = new Set(wanted.map(({ id }) => id));
    this.lastReports = this.lastReports.filter(({ id }) => ids.has(id));
    if (this.worker !== null) this.sendMessage({ kind: 'apply', wanted });
    else if (wanted.length > 0) this.start();
  }

  /** Which nodes have which vbuckets; null: this one has all. */
  followCluster(layout: ClusterLayout | null): void {
    if (JSON.stringify(layout) === JSON.stringify(this.layout)) return;
    this.layout = layout;
    this.sendMessage({ kind: 'cluster', state: layout });
  }

  reports(): readonly ReplicationReport[] {
    return this.lastReports;
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
    const worker = startWorker(new URL('./xdcr-thread', import.meta.url), import.meta.url, {
      name: 'xdcr',
      workerData,
      resourceLimits,
    });
    worker.on('message', (message: XdcrThreadMessage) => this.receive(message));
    worker.on('error', (error) => this.options.log.error('xdcr.thread_failed', { reason: error.stack }));
    worker.on('exit', () => this.ended(worker));
    this.worker = worker;
    this.sendMessage({ kind: 'cluster', state: this.layout });
    this.sendMessage({ kind: 'apply', wanted: this.wanted });
  }

  private sendMessage(call: XdcrThreadCall): void {
    this.worker?.postMessage(call);
  }

  private receive(message: XdcrThreadMessage): void {
    if (message.kind === 'log') this.options.log[message.level](message.event, message.fields);
    else if (message.kind === 'stopped') this.stopping?.resolve();
    else if (message.kind === 'report') {
      this.restartInMs = restartMs.first;
      const ids = new Set(this.wanted.map(({ id }) => id));
      this.lastReports = message.replications.filter(({ id }) => ids.has(id));
    } else void this.answer(message);
  }

  private async answer(message: Extract<XdcrThreadMessage, { id: number }>): Promise<void> {
    const { id, replication } = message;
    try {
      if (message.kind === 'save') await this.store?.save(replication, message.checkpoint);
      const found = message.kind === 'load' ? await this.store?.load(replication) : [];
      this.sendMessage({ kind: 'checkpoints', id, found: found ?? [], failure: null });
    } catch (error) {
      this.sendMessage({ kind: 'checkpoints', id, found: [], failure: (error as Error).message });
    }
  }

  private ended(worker: Worker): void {
    if (this.worker !== worker) return;
    this.worker = null;
    this.lastReports = this.lastReports.map((report) => ({ ...report, isConnected: false }));
    this.stopping?.resolve();
    if (this.stopping !== null) return;
    this.options.log.warn('xdcr.thread_restarts', { inMs: this.restartInMs });
    this.options.clock.after(this.restartInMs, () => {
      if (this.stopping === null) this.start();
    });
    this.restartInMs = Math.min(2 * this.restartInMs, restartMs.most);
  }
}

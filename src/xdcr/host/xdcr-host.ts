// The main thread's side of replication between clusters: starts the thread with the first replication, sends it the wanted state,
// keeps its reports, and reads and writes checkpoints for it.
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { Clock } from '#ports/clock.ts';
import { codeFile } from '#ports/code-place.ts';
import type { Log } from '#ports/log.ts';
import { ServiceThread } from '#ports/service-thread.ts';
import type { CheckpointStore, ReplicationReport, WantedReplication, XdcrAdmin } from '../xdcr.contract.ts';
import type { XdcrThreadCall, XdcrThreadData, XdcrThreadMessage } from './thread-messages.ts';

export interface XdcrHostOptions {
  /** Known once the data port listens. */
  readonly data: () => Promise<XdcrThreadData>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Each change takes a few short-lived objects; with a small young generation V8 would collect garbage continuously. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 };

export class XdcrHost implements XdcrAdmin {
  private readonly thread: ServiceThread<XdcrThreadCall, XdcrThreadMessage>;
  private wanted: readonly WantedReplication[] = [];
  private layout: ClusterLayout | null = null;
  private lastReports: readonly ReplicationReport[] = [];
  private store: CheckpointStore | null = null;

  constructor({ data, clock, log }: XdcrHostOptions) {
    this.thread = new ServiceThread({
      area: 'xdcr',
      name: 'xdcr',
      module: codeFile('xdcr/host/xdcr-thread'),
      resourceLimits,
      clock,
      log,
      workerData: data,
      started: () => this.sendState(),
      receive: (message, answer) => this.receive(message, answer),
      ended: () => this.ended(),
    });
  }

  useCheckpoints(store: CheckpointStore): void {
    this.store = store;
  }

  apply(wanted: readonly WantedReplication[]): void {
    this.wanted = wanted;
    const ids = new Set(wanted.map(({ id }) => id));
    this.lastReports = this.lastReports.filter(({ id }) => ids.has(id));
    if (this.thread.isRunning) this.thread.send({ kind: 'apply', wanted });
    else if (wanted.length > 0) this.thread.start();
  }

  /** Which nodes have which vbuckets; null: this one has all. */
  followCluster(layout: ClusterLayout | null): void {
    if (JSON.stringify(layout) === JSON.stringify(this.layout)) return;
    this.layout = layout;
    this.thread.send({ kind: 'cluster', layout });
  }

  reports(): readonly ReplicationReport[] {
    return this.lastReports;
  }

  stop(): Promise<void> {
    return this.thread.stop();
  }

  private sendState(): void {
    this.thread.send({ kind: 'cluster', layout: this.layout });
    this.thread.send({ kind: 'apply', wanted: this.wanted });
  }

  private receive(message: XdcrThreadMessage, answer: (call: XdcrThreadCall) => void): void {
    if (message.kind === 'report') {
      const ids = new Set(this.wanted.map(({ id }) => id));
      this.lastReports = message.replications.filter(({ id }) => ids.has(id));
    } else if (message.kind === 'load' || message.kind === 'save') void this.useStore(message, answer);
  }

  private async useStore(
    message: Extract<XdcrThreadMessage, { id: number }>,
    answer: (call: XdcrThreadCall) => void,
  ): Promise<void> {
    const { id, replication } = message;
    try {
      if (message.kind === 'save') await this.store?.save(replication, message.checkpoint);
      const found = message.kind === 'load' ? await this.store?.load(replication) : [];
      answer({ kind: 'checkpoints', id, found: found ?? [], failure: null });
    } catch (error) {
      answer({ kind: 'checkpoints', id, found: [], failure: (error as Error).message });
    }
  }

  private ended(): void {
    this.lastReports = this.lastReports.map((report) => ({ ...report, isConnected: false }));
  }
}

// The main thread's side of the index service: starts its thread with the first index, or to remove files of indexes that were dropped while
// the node was down, sends it the desired state, and stores its reports. A thread that ends unexpectedly is restarted: index files are consistent at any time.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { Clock } from '#ports/clock.ts';
import { codeFile } from '#ports/code-place.ts';
import type { Log } from '#ports/log.ts';
import { ServiceThread } from '#ports/service-thread.ts';
import { atMost } from '#ports/within.ts';
import type { IndexReport, IndexServiceAdmin, WantedIndexes } from '../index.contract.ts';
import { IndexProgress } from '../index-progress.ts';
import type { IndexThreadCall, IndexThreadData, IndexThreadMessage } from './thread-messages.ts';

export interface IndexHostOptions {
  /** Known once the data port listens. */
  readonly data: () => Promise<IndexThreadData>;
  /** Whether there are index files. */
  readonly hasFiles: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** A build creates thousands of short-lived keys; with a small young generation V8 would collect garbage continuously. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 };
const reportTimeoutMs = 2_000;

export class IndexHost implements IndexServiceAdmin {
  private readonly clock: Clock;
  private readonly hasFiles: () => boolean;
  private readonly thread: ServiceThread<IndexThreadCall, IndexThreadMessage>;
  private readonly listeners = new Set<() => void>();
  private readonly reportRequests = new Map<number, Deferred<void>>();
  private wanted: WantedIndexes | null = null;
  private layout: ClusterLayout | null = null;
  private indexes: readonly IndexReport[] = [];
  private lastId = 0;

  constructor({ data, hasFiles, clock, log }: IndexHostOptions) {
    this.clock = clock;
    this.hasFiles = hasFiles;
    this.thread = new ServiceThread({
      area: 'index',
      name: 'index service',
      module: codeFile('index/host/index-thread'),
      resourceLimits,
      clock,
      log,
      workerData: data,
      started: () => this.sendState(),
      receive: (message) => this.receive(message),
      ended: () => this.ended(),
    });
  }

  get isRunning(): boolean {
    return this.thread.isRunning;
  }

  apply(wanted: WantedIndexes): void {
    const isFirst = this.wanted === null;
    this.wanted = wanted;
    if (this.thread.isRunning) this.thread.send({ kind: 'apply', wanted });
    else if (wanted.indexes.length > 0 || (isFirst && this.hasFiles())) this.thread.start();
  }

  /** Sets which nodes have which vbuckets; null: this one has all. */
  followCluster(layout: ClusterLayout | null): void {
    if (isSame(layout, this.layout)) return;
    this.layout = layout;
    this.thread.send({ kind: 'cluster', layout });
  }

  /** Includes the current figures from shared memory. */
  reports(): readonly IndexReport[] {
    return this.indexes.map((report) =>
      report.shared === undefined ? report : { ...report, ...new IndexProgress(report.shared).figures() },
    );
  }

  async refresh(): Promise<void> {
    if (!this.thread.isRunning) return;
    const id = ++this.lastId;
    const answer = deferred<void>();
    this.reportRequests.set(id, answer);
    this.thread.send({ kind: 'report', id });
    // A thread that sorts a large build answers later; its last report is used meanwhile.
    await atMost(this.clock, reportTimeoutMs, answer.promise);
    this.reportRequests.delete(id);
  }

  replaceFile(bucketUuid: string, indexId: string): Promise<void> {
    this.thread.send({ kind: 'replace file', bucketUuid, indexId });
    return Promise.resolve();
  }

  onChange(listener: () => void): { stop(): void } {
    this.listeners.add(listener);
    return { stop: () => void this.listeners.delete(listener) };
  }

  stop(): Promise<void> {
    return this.thread.stop();
  }

  private sendState(): void {
    this.thread.send({ kind: 'cluster', layout: this.layout });
    if (this.wanted !== null) this.thread.send({ kind: 'apply', wanted: this.wanted });
  }

  private receive(message: IndexThreadMessage): void {
    if (message.kind !== 'report') return;
    this.indexes = message.indexes;
    if (message.id !== undefined) this.reportRequests.get(message.id)?.resolve();
    for (const listener of [...this.listeners]) listener();
  }

  /** Indexes are offline for queries until the restarted thread follows them. */
  private ended(): void {
    for (const answer of this.reportRequests.values()) answer.resolve();
    if (this.thread.isStopping) return;
    this.indexes = this.indexes.map((report) => ({ ...report, state: 'building' }));
    for (const listener of [...this.listeners]) listener();
  }
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

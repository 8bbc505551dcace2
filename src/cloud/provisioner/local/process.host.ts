// A node as a process of this machine: started, found again after a restart of the cloud, restarted when it ends.
import { existsSync, mkdirSync } from 'node:fs';
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { NodeSpec } from '../provisioner.ts';
import { launch, outputTail, readyFile, truncateLog } from './launch.host.ts';
import { writeOwner } from './owner.host.ts';
import { endProcess, isRunning, type ProcessRecord, runningProcess } from './process-record.host.ts';

const pollEveryMs = 25;
/** Longer for child processes, whose end the system reports. */
const watchChildEveryMs = 10_000;
const watchOtherEveryMs = 1_000;
const startTimeoutMs = 120_000;
const restartFirstMs = 500;
const restartMaxMs = 30_000;
/** After a run of this length the delay of restarts begins at its minimum again. */
const stableAfterMs = 60_000;

export interface NodeProcessOptions {
  readonly spec: NodeSpec;
  readonly folder: string;
  /** The id of the cloud that runs the node; it is stored in the folder of the node. */
  readonly home: string;
  /** The address from which the node always accepts connections; undefined where there is no such address. */
  readonly operatorAddress: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export class NodeProcess {
  readonly spec: NodeSpec;
  private readonly options: NodeProcessOptions;
  private record: ProcessRecord | null = null;
  private state: 'running' | 'starting' | 'stopped' = 'stopped';
  private lastProblem: string | null = null;
  private starting: Promise<void> | null = null;
  private timer: Timer | null = null;
  private watchMs = watchOtherEveryMs;
  private logProblem: string | null = null;
  private unexpectedEnds = 0;
  private readyAtMs = 0;
  /** False from `stop` until the next `start`. */
  private shouldRun = true;

  constructor(options: NodeProcessOptions) {
    this.options = options;
    this.spec = options.spec;
  }

  /** The reason why the node does not run; null while it runs, and if `stop` stopped it. */
  get downReason(): string | null {
    if (this.state === 'running') return null;
    return this.lastProblem ?? (this.state === 'starting' ? 'it is being started' : null);
  }

  /** Adopts the process that an earlier cloud process started, or starts one. Resolves when the node is ready; restarts it whenever it ends. */
  start(): Promise<void> {
    this.shouldRun = true;
    if (this.state === 'running') return Promise.resolve();
    this.timer?.cancel();
    this.starting ??= this.attempt().finally(() => {
      this.starting = null;
    });
    return this.starting;
  }

  /** As `start`, but retries if it fails. */
  async resume(): Promise<void> {
    const { folder, log } = this.options;
    if (!existsSync(folder)) {
      // A new start would make another node: empty, with another certificate and without the allowlist.
      log.error('node.data_missing', { node: this.spec.id, cluster: this.spec.clusterId, folder });
      this.state = 'stopped';
      this.lastProblem = `its data folder ${folder} is missing, and no empty node is started in its place: put the folder back and start the cloud again, or delete the cluster`;
      return;
    }
    try {
      await this.start();
    } catch (error) {
      this.restartLater((error as Error).message);
    }
  }

  /** SIGKILL if the data is deleted afterwards, else SIGTERM. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.shouldRun = false;
    this.timer?.cancel();
    await this.end(signal);
    await this.starting?.catch(() => {});
    this.state = 'stopped';
  }

  private async attempt(): Promise<void> {
    const { folder, home, clock } = this.options;
    this.state = 'starting';
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeOwner(folder, { home, clusterId: this.spec.clusterId });
      const found = runningProcess(folder);
      this.record = found ?? this.launch();
      this.watchMs = found === null ? watchChildEveryMs : watchOtherEveryMs;
      await this.untilReady(this.record);
    } catch (error) {
      // A node that was not ready in time would not be ready next time either.
      if (this.shouldRun) await this.end('SIGKILL');
      this.state = 'stopped';
      throw error;
    }
    this.state = 'running';
    this.lastProblem = null;
    this.readyAtMs = clock.monotonicMs();
    this.watch(this.record);
  }

  private launch(): ProcessRecord {
    const { child, record } = launch(this.options);
    child.on('exit', (code, signal) => this.ended(record, `ended with ${code ?? signal}`));
    return record;
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const record = runningProcess(this.options.folder);
    if (record !== null) await endProcess(record, signal, this.options.clock);
  }

  private async untilReady(record: ProcessRecord): Promise<void> {
    const { clock, folder } = this.options;
    const deadlineMs = clock.monotonicMs() + startTimeoutMs;
    while (!existsSync(readyFile(folder))) {
      if (!this.shouldRun) throw new Error('the node was stopped before it was ready');
      if (!isRunning(record)) throw new Error(`the node ended before it was ready: ${outputTail(folder)}`);
      if (clock.monotonicMs() > deadlineMs) throw new Error(`the node was not ready in ${startTimeoutMs} ms`);
      await clock.sleep(pollEveryMs);
    }
    if (!isRunning(record)) throw new Error(`the node ended as soon as it was ready: ${outputTail(folder)}`);
  }

  /** A process started by an earlier cloud process is not our child: its end is detected by polling. */
  private watch(record: ProcessRecord): void {
    this.timer = this.options.clock.after(this.watchMs, () => {
      try {
        if (!isRunning(record)) return this.ended(record, 'is gone');
        truncateLog(this.options.folder);
        this.logProblem = null;
      } catch (error) {
        this.reportLogProblem((error as Error).message);
      }
      this.watch(record);
    });
  }

  /** Logs once that the log of the node cannot be truncated, as on a full disk. The log grows meanwhile. */
  private reportLogProblem(reason: string): void {
    if (reason !== this.logProblem)
      this.options.log.warn('node.log_not_truncated', { node: this.spec.id, reason });
    this.logProblem = reason;
  }

  private ended(record: ProcessRecord, reason: string): void {
    if (this.record !== record || this.state !== 'running') return;
    this.state = 'stopped';
    this.timer?.cancel();
    if (this.options.clock.monotonicMs() - this.readyAtMs > stableAfterMs) this.unexpectedEnds = 0;
    this.restartLater(reason);
  }

  private restartLater(reason: string): void {
    if (!this.shouldRun) return;
    const waitMs = Math.min(restartMaxMs, restartFirstMs * 2 ** Math.min(this.unexpectedEnds++, 10));
    this.options.log.warn('node.died', { node: this.spec.id, reason, waitMs });
    this.lastProblem = `it is started again (${reason})`;
    this.timer = this.options.clock.after(waitMs, () => void this.resume());
  }
}

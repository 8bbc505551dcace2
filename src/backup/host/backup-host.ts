// Runs the jobs of the backup service in a thread, which starts with the first job and ends five minutes after the last.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import { codeFile } from '#ports/code-place.ts';
import type { Log } from '#ports/log.ts';
import { ServiceThread } from '#ports/service-thread.ts';
import { type Job, type JobProgress, type JobResult, type JobRunner, RepositoryInUseError } from './jobs.ts';
import type { BackupThreadCall, BackupThreadMessage } from './thread-messages.ts';

interface RunningJob {
  readonly job: Job;
  readonly result: Deferred<unknown>;
  readonly progress: (state: JobProgress) => void;
  /** The thread to which the job was sent. */
  thread: Thread | null;
}

type Thread = ServiceThread<BackupThreadCall, BackupThreadMessage>;

const idleTimeoutMs = 300_000;
const jobsMax = 100;
/** Frames and blocks of a MiB are short-lived; in a young generation of the default size V8 would copy each of them twice. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 };

export class BackupHost implements JobRunner {
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly jobs = new Map<number, RunningJob>();
  private thread: Thread | null = null;
  private layout: ClusterLayout | null | undefined;
  private idle: Timer | null = null;
  private lastId = 0;
  private isStopped = false;
  private ending: Promise<void> = Promise.resolve();

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.clock = clock;
    this.log = log;
  }

  get isRunning(): boolean {
    return this.thread !== null;
  }

  /** Call with the nodes of the cluster's vbuckets at the start, and after each change: a restore creates buckets. */
  followCluster(layout: ClusterLayout | null): void {
    this.layout = layout;
    if (this.thread?.isRunning === true) this.sendLayout(this.thread);
  }

  private sendLayout(thread: Thread): void {
    if (this.layout !== undefined) thread.send({ kind: 'cluster', layout: this.layout });
  }

  async run<J extends Job>(
    job: J,
    signal: AbortSignal,
    progress: (state: JobProgress) => void = () => {},
  ): Promise<JobResult<J>> {
    if (this.isStopped) throw new Error('the node stops');
    if (this.jobs.size >= jobsMax) throw new Error(`${jobsMax} other jobs run; try again`);
    signal.throwIfAborted();
    const id = ++this.lastId;
    const running: RunningJob = { job, result: deferred<unknown>(), progress, thread: null };
    this.jobs.set(id, running);
    this.idle?.cancel();
    const cancel = () => {
      // A job that waits for its thread is not sent any more.
      if (running.thread === null) this.reject(id, reasonOf(signal));
      else running.thread.send({ kind: 'cancel', id, reason: reasonOf(signal) });
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      this.startThread();
      this.sendJobs();
      return (await running.result.promise) as JobResult<J>;
    } finally {
      signal.removeEventListener('abort', cancel);
      this.jobs.delete(id);
      if (this.jobs.size === 0 && !this.isStopped)
        this.idle = this.clock.after(idleTimeoutMs, () => void this.endThread());
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.idle?.cancel();
    for (const [id, { thread }] of this.jobs) if (thread === null) this.reject(id, 'the node stops');
    await this.endThread();
  }

  private startThread(): void {
    if (this.thread !== null) return;
    const thread: Thread = new ServiceThread({
      area: 'backup',
      name: 'backup',
      module: codeFile('backup/host/backup-thread'),
      resourceLimits,
      clock: this.clock,
      log: this.log,
      workerData: async () => null,
      started: () => {
        this.sendLayout(thread);
        this.sendJobs();
      },
      receive: (message) => this.receive(message),
      ended: () => this.ended(thread),
    });
    this.thread = thread;
    thread.start();
  }

  private sendJobs(): void {
    const { thread } = this;
    if (thread?.isRunning !== true) return;
    for (const [id, running] of this.jobs) {
      if (running.thread !== null) continue;
      running.thread = thread;
      thread.send({ kind: 'run', id, job: running.job });
    }
  }

  /** Rejects a job that was not sent. */
  private reject(id: number, reason: string): void {
    this.jobs.get(id)?.result.reject(new Error(reason));
    this.jobs.delete(id);
  }

  private receive(message: BackupThreadMessage): void {
    if (!('id' in message)) return;
    const running = this.jobs.get(message.id);
    if (message.kind === 'progress') running?.progress(message.state);
    else if (message.kind === 'done') running?.result.resolve(message.result);
    else
      running?.result.reject(
        message.isInUse ? new RepositoryInUseError(message.reason) : new Error(message.reason),
      );
  }

  private endThread(): Promise<void> {
    const { thread } = this;
    this.thread = null;
    if (thread !== null) this.ending = this.ending.then(() => thread.stop());
    return this.ending;
  }

  /** The thread ended by itself: its jobs are lost, and later jobs complete or undo what they wrote. */
  private ended(thread: Thread): void {
    for (const running of this.jobs.values())
      if (running.thread === thread)
        running.result.reject(new Error('the thread of the backup service has ended'));
  }
}

const reasonOf = ({ reason }: AbortSignal): string => (reason as Error).message;

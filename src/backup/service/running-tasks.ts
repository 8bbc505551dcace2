// The tasks that run now: one for each repository at a time, and one restore for each bucket of a target. Every run is in the history from its
// start on, so that a task whose process was killed is known afterwards.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { BucketFigures, JobProgress } from '../host/jobs.ts';
import type { BackupMetrics } from './backup-metrics.ts';
import type { RepositoryKind, StoredRepository } from './backup-state.ts';
import type { TaskHistory } from './task-history.adapter.ts';
import type { TaskRecord, TaskType } from './task-record.ts';

export interface TaskStart {
  readonly kind: RepositoryKind;
  readonly repository: StoredRepository;
  readonly type: TaskType;
  /** Name of the task in the plan; null: requested now. */
  readonly planTask: string | null;
  /** What the task does, as a text. */
  readonly about: string;
  readonly target?: string;
  /** The target of a restore, to which no other task may write at the same time: cluster and bucket, or an address and `*`. */
  readonly writesTo?: readonly string[];
  work(signal: AbortSignal, progress: (state: JobProgress) => void): Promise<TaskOutcome>;
}

export interface TaskOutcome {
  readonly about?: string;
  readonly buckets: readonly BucketFigures[];
  readonly notes: readonly string[];
  /** Bytes of all backups of the repository, if the task changed them. */
  readonly size?: number;
}

/** Another task uses the repository, or restores into the bucket. */
export class TaskConflictError extends Error {}

export interface RunningTask {
  readonly kind: RepositoryKind;
  readonly repository: StoredRepository;
  record: TaskRecord;
  readonly writesTo: readonly string[];
  readonly cancelled: AbortController;
  ended: Promise<void>;
}

export interface RunningTasksDeps {
  readonly history: TaskHistory;
  readonly nodeId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: BackupMetrics;
  /** Called after each task. */
  ended(task: RunningTask): void;
}

const interruptedText = 'the node ended during the task';
/** Percent: 100 is for a task that is done. */
const runningProgressMax = 99;

export class RunningTasks {
  readonly #deps: RunningTasksDeps;
  readonly #byRepository = new Map<string, RunningTask>();
  #isStopped = false;

  constructor(deps: RunningTasksDeps) {
    this.#deps = deps;
  }

  all(): RunningTask[] {
    return [...this.#byRepository.values()];
  }

  taskOf(kind: RepositoryKind, id: string): RunningTask | undefined {
    return this.#byRepository.get(`${kind}/${id}`);
  }

  /** Returns the name of the task. @throws TaskConflictError */
  start(start: TaskStart): string {
    const labels = labelsOf(start);
    try {
      const name = this.#begin(start);
      this.#deps.metrics.add('backup_dispatched', { ...labels, result: 'success' });
      return name;
    } catch (error) {
      this.#deps.metrics.add('backup_dispatched', { ...labels, result: 'failure' });
      throw error;
    }
  }

  #begin(start: TaskStart): string {
    const { kind, repository, type, planTask, writesTo = [] } = start;
    if (this.#isStopped) throw new TaskConflictError('the node is stopping');
    const other = this.taskOf(kind, repository.id);
    if (other !== undefined)
      throw new TaskConflictError(
        `task ${other.record.name} runs on repository ${repository.id}; try again when it has ended`,
      );
    const conflicting = this.all().find((task) =>
      task.writesTo.some((bucket) => writesTo.some((own) => overlaps(own, bucket))),
    );
    if (conflicting !== undefined)
      throw new TaskConflictError(
        `task ${conflicting.record.name} restores into the same bucket; try again when it has ended`,
      );
    const run = this.#deps.random.uuid();
    const name = planTask ?? `${type === 'RESTORE' ? 'restore' : type}-${run}`;
    const record = this.#firstRecord(start, run, name);
    const task: RunningTask = {
      kind,
      repository,
      record,
      writesTo,
      cancelled: new AbortController(),
      ended: Promise.resolve(),
    };
    this.#byRepository.set(`${kind}/${repository.id}`, task);
    task.ended = this.#run(task, start);
    return name;
  }

  /** Ends the records of the tasks that the end of this node interrupted, in the history of the repository. */
  async endInterrupted(kind: RepositoryKind, repository: StoredRepository): Promise<void> {
    const { history, metrics } = this.#deps;
    for (const record of await history.read(repository)) {
      if (!this.#isInterrupted(kind, repository, record)) continue;
      metrics.add('backup_task_orphaned', labelsOf({ kind, repository }));
      await history.note(repository, interruptedRecord(record));
    }
  }

  /** The record with the newest state, to show it. */
  current(kind: RepositoryKind, repository: StoredRepository, record: TaskRecord): TaskRecord {
    if (this.#isInterrupted(kind, repository, record)) return interruptedRecord(record);
    const running = this.taskOf(kind, repository.id)?.record;
    return record.run === running?.run ? running : record;
  }

  #isInterrupted(kind: RepositoryKind, { id }: StoredRepository, record: TaskRecord): boolean {
    const { run, status, nodeId } = record;
    if (status !== 'running' || nodeId !== this.#deps.nodeId) return false;
    return this.taskOf(kind, id)?.record.run !== run;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { cancelled } of this.all()) cancelled.abort(new Error('the node stops'));
    await Promise.all(this.all().map(({ ended }) => ended));
  }

  async #run(task: RunningTask, start: TaskStart): Promise<void> {
    const { history, clock } = this.#deps;
    const { repository, kind } = task;
    await history.note(repository, task.record);
    const end = await this.#outcome(task, start);
    const record: TaskRecord = { ...task.record, ...end, endMs: clock.wallMs() };
    this.#count(task, record);
    await history.note(repository, record);
    // Only now, so that a client that sees the end can start the next task.
    task.record = record;
    this.#byRepository.delete(`${kind}/${repository.id}`);
    this.#deps.ended(task);
  }

  /** Never rejects. */
  async #outcome(task: RunningTask, { work }: TaskStart): Promise<Partial<TaskRecord>> {
    const { repository, cancelled, record } = task;
    try {
      const { size, ...shown } = await work(cancelled.signal, (state) => {
        task.record = { ...task.record, ...progressed(task.record, state) };
      });
      if (size !== undefined) this.#deps.metrics.set('backup_data_size', labelsOf(task), size);
      return { ...shown, status: 'done', progress: 100 };
    } catch (error) {
      const reason = (error as Error).message;
      const { name, type } = record;
      this.#deps.log.warn('backup.task_failed', { repository: repository.id, task: name, type, reason });
      return { status: 'failed', error: reason };
    }
  }

  #count(task: RunningTask, { type, status, startMs, endMs }: TaskRecord): void {
    const result = status === 'done' ? 'success' : 'failure';
    const labels = { ...labelsOf(task), task_type: type, result };
    this.#deps.metrics.add('backup_task_run', labels);
    this.#deps.metrics.addDuration(labels, Math.max(0, (endMs ?? startMs) - startMs) / 1_000);
  }

  #firstRecord({ type, planTask, about, target = '' }: TaskStart, run: string, name: string): TaskRecord {
    const { nodeId, clock } = this.#deps;
    return {
      run,
      name,
      type,
      isScheduled: planTask !== null,
      nodeId,
      startMs: clock.wallMs(),
      endMs: null,
      status: 'running',
      progress: 0,
      about,
      error: '',
      notes: [],
      buckets: [],
      target,
    };
  }
}

const interruptedRecord = (record: TaskRecord): TaskRecord => ({
  ...record,
  status: 'failed',
  error: interruptedText,
});

const labelsOf = ({ kind, repository }: Pick<RunningTask, 'kind' | 'repository'>) => ({
  cluster: 'self',
  repository: repository.id,
  state: kind,
});

/** Two targets, each `cluster/bucket`; `*` stands for all buckets. */
function overlaps(a: string, b: string): boolean {
  if (a === b) return true;
  const [clusterA, bucketA] = a.split('/');
  const [clusterB, bucketB] = b.split('/');
  return clusterA === clusterB && (bucketA === '*' || bucketB === '*');
}

/** The progress of a task is the share of the present bucket that is done, and never decreases. */
function progressed(record: TaskRecord, { bucket, done, expected }: JobProgress): Partial<TaskRecord> {
  const others = record.buckets.filter(({ name }) => name !== bucket);
  const share = expected === null || expected === 0 ? 0 : Math.min(1, done / expected);
  return {
    buckets: [...others, { name: bucket, documents: done, deletions: 0, bytes: 0 }],
    progress: Math.max(record.progress, Math.min(runningProgressMax, Math.floor(share * 100))),
  };
}

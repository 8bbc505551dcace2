// Starts tasks on repositories: backups, merges and restores.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { within } from '#ports/within.ts';
import {
  type BackupJob,
  type Job,
  type JobProgress,
  type JobResult,
  type JobRunner,
  RepositoryInUseError,
} from '../host/jobs.ts';
import { intervalOfDays, type MergedDays } from '../merge/days-interval.ts';
import type { NodeAccess } from '../node/backup-node.ts';
import type { ArchiveLocations } from './archive-locations.adapter.ts';
import { backupRefusals } from './backup.refusals.ts';
import type { BackupStateStore, RepositoryKind, StoredRepository } from './backup-state.ts';
import { bodyField } from './body-fields.ts';
import { mergeOffset, planOf } from './plans.ts';
import { bodyOf, orInvalidBody } from './read-body.ts';
import { type RestoreCall, type RestoreTarget, readRestore } from './restore-body.ts';
import { type RunningTasks, TaskConflictError, type TaskOutcome } from './running-tasks.ts';

export interface RepositoryTasksDeps {
  readonly state: BackupStateStore;
  readonly locations: ArchiveLocations;
  readonly running: RunningTasks;
  readonly runner: JobRunner;
  readonly bucketUuid: (name: string) => string | null | Promise<string | null>;
  readonly ownAccess: () => Promise<NodeAccess>;
  readonly authorities: () => Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often and for how long a task of a plan tries again while another process uses the repository. */
const inUseRetryPauseMs = 10_000;
const inUseTimeoutMs = 12 * 3_600_000;
/** The time within which a target must say which cluster it is. */
const targetAnswerTimeoutMs = 5_000;
const backupFields = { full_backup: bodyField.optional(bodyField.boolean) };
const mergeFields = { offset_start: mergeOffset, offset_end: mergeOffset };

export class RepositoryTasks {
  readonly #deps: RepositoryTasksDeps;

  constructor(deps: RepositoryTasksDeps) {
    this.#deps = deps;
  }

  /** An empty body stands for an incremental backup. Returns the name of the task. */
  async requestBackup(repository: StoredRepository, body: Buffer): Promise<string> {
    const { full_backup: isFull = false } = body.length === 0 ? {} : bodyOf(body, backupFields);
    const problem = await this.bucketProblem(repository);
    if (problem !== null) throw backupRefusals.taskNotSent(undefined, problem);
    return startOrRefuse(() => this.backup(repository, { isFull, planTask: null }));
  }

  requestMerge(repository: StoredRepository, body: Buffer): string {
    const { offset_start: newest, offset_end: oldest } = bodyOf(body, mergeFields);
    if (newest > oldest)
      throw backupRefusals.invalidBody(undefined, 'offset_start: must not be above offset_end');
    return startOrRefuse(() => this.merge(repository, { days: { newest, oldest }, planTask: null }));
  }

  async requestRestore(kind: RepositoryKind, repository: StoredRepository, body: Buffer): Promise<string> {
    const call = orInvalidBody(() => readRestore(body));
    const writesTo = await this.#writtenBuckets(repository, call);
    return startOrRefuse(() => this.#restore(kind, repository, call, writesTo));
  }

  /** Why the bucket of the repository cannot be backed up; null: it can. */
  async bucketProblem({ bucket }: StoredRepository): Promise<string | null> {
    if (bucket === null) return null;
    const uuid = await this.#deps.bucketUuid(bucket.name);
    const failed = `failed bucket check for bucket '${bucket.name}'`;
    if (uuid === null) return `${failed}: the bucket does not exist`;
    return uuid === bucket.uuid ? null : `${failed}: bucket UUIDs don't match ${bucket.uuid} != ${uuid}`;
  }

  /** @throws TaskConflictError */
  backup(
    repository: StoredRepository,
    { isFull, planTask }: { isFull: boolean; planTask: string | null },
  ): string {
    return this.#deps.running.start({
      kind: 'active',
      repository,
      planTask,
      type: 'BACKUP',
      about: 'Backing up',
      work: (signal, progress) => this.#runBackup(repository, isFull, { signal, progress, planTask }),
    });
  }

  /** @throws TaskConflictError */
  merge(
    repository: StoredRepository,
    { days, planTask }: { days: MergedDays; planTask: string | null },
  ): string {
    return this.#deps.running.start({
      kind: 'active',
      repository,
      planTask,
      type: 'MERGE',
      about: 'Merging backups',
      work: (signal, progress) => this.#runMerge(repository, days, { signal, progress, planTask }),
    });
  }

  /** The buckets that the restore writes to. Each is named with the id of its cluster, since a cluster has several addresses. */
  async #writtenBuckets(
    repository: StoredRepository,
    { target, request }: RestoreCall,
  ): Promise<readonly string[]> {
    const asking = new AbortController();
    const timeoutError = () => new Error('no answer');
    try {
      const folder = await this.#folderOf(repository);
      const node = await this.#accessTo(target);
      const job = { kind: 'restoreTargets', request: { ...request, folder }, node } as const;
      const found = this.#deps.runner.run(job, asking.signal);
      const { cluster, buckets } = await within(this.#deps.clock, targetAnswerTimeoutMs, found, timeoutError);
      return buckets.map((bucket) => `${cluster}/${bucket}`);
    } catch (error) {
      asking.abort(error);
      // The task fails for the same reason, unless the target answers later.
      return [`${addressText(target)}/*`];
    }
  }

  /** `target` null: this cluster. */
  async #accessTo(target: RestoreTarget | null): Promise<NodeAccess> {
    const { ownAccess, authorities } = this.#deps;
    if (target === null) return await ownAccess();
    const { usesTls, ...access } = target;
    return usesTls ? { ...access, authority: await authorities() } : access;
  }

  #restore(
    kind: RepositoryKind,
    repository: StoredRepository,
    { target, request }: RestoreCall,
    writesTo: readonly string[],
  ): string {
    return this.#deps.running.start({
      kind,
      repository,
      planTask: null,
      type: 'RESTORE',
      about: 'Restoring',
      target: target === null ? '' : `${target.usesTls ? 'https' : 'http'}://${addressText(target)}`,
      writesTo,
      work: async (signal, progress) => {
        const folder = await this.#folderOf(repository);
        const node = await this.#accessTo(target);
        const job = { kind: 'restore', request: { ...request, folder }, node } as const;
        const { backup, buckets, notes, problems } = await this.#deps.runner.run(job, signal, progress);
        if (problems.length > 0) throw new Error(problems.join('; '));
        return {
          about: `Restoring from ${backup}`,
          buckets: buckets.map(({ bucket, documents, deletions }) => ({
            name: bucket,
            documents,
            deletions,
            bytes: 0,
          })),
          notes: [...notes, ...buckets.filter(({ skipped }) => skipped > 0).map(skippedText)],
        };
      },
    });
  }

  async #runBackup(repository: StoredRepository, isFull: boolean, run: TaskRun): Promise<TaskOutcome> {
    const problem = await this.bucketProblem(repository);
    if (problem !== null) throw new Error(problem);
    const folder = await this.#folderOf(repository);
    const { bucket } = repository;
    const services = planOf(this.#deps.state.value.plans, repository.plan)?.services ?? null;
    const job: BackupJob = {
      kind: 'backup' as const,
      folder,
      buckets: bucket === null ? [] : [bucket.name],
      isFull,
      withIndexes: services === null || services.includes('gsi'),
      node: await this.#deps.ownAccess(),
    };
    const { backup, buckets, notes, size } = await this.#runOnceFree(job, run);
    return { about: `Backing up to ${backup}`, buckets, notes, size };
  }

  async #runMerge(repository: StoredRepository, days: MergedDays, run: TaskRun): Promise<TaskOutcome> {
    const folder = await this.#folderOf(repository);
    const job = { kind: 'merge', folder, ...intervalOfDays(days, this.#deps.clock.wallMs()) } as const;
    const merged = await this.#runOnceFree(job, run);
    if (merged === null) return { buckets: [], notes: ['there were not two backups to merge'] };
    return {
      about: `Merging to ${merged.backup}`,
      buckets: [],
      notes: [`merged ${merged.merged.join(', ')}`],
      size: merged.size,
    };
  }

  /** A task of a plan waits until the repository is free, since its next turn may be a week away. */
  async #runOnceFree<J extends Job>(
    job: J,
    { planTask: task, signal, progress }: TaskRun,
  ): Promise<JobResult<J>> {
    const { runner, clock, log } = this.#deps;
    const endMs = clock.monotonicMs() + inUseTimeoutMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await runner.run(job, signal, progress);
      } catch (error) {
        const isOver = task === null || clock.monotonicMs() >= endMs;
        if (isOver || !(error instanceof RepositoryInUseError)) throw error;
        if (attempt === 1) log.info('backup.task_waits', { task, reason: error.message });
      }
      await clock.sleep(inUseRetryPauseMs, signal);
    }
  }

  async #folderOf({ archive, repo }: StoredRepository): Promise<string> {
    await this.#deps.locations.check(archive, repo);
    return `${archive}/${repo}`;
  }
}

const addressText = (target: RestoreTarget | null): string =>
  target === null ? 'self' : `${target.host}:${target.port}`;

interface TaskRun {
  readonly planTask: string | null;
  readonly signal: AbortSignal;
  readonly progress: (state: JobProgress) => void;
}

const skippedText = ({ bucket, skipped }: { bucket: string; skipped: number }): string =>
  `${bucket}: ${skipped} versions were skipped, since the bucket has them or newer ones`;

function startOrRefuse(start: () => string): string {
  try {
    return start();
  } catch (error) {
    if (error instanceof TaskConflictError) throw backupRefusals.taskNotSent(undefined, error.message);
    throw error;
  }
}

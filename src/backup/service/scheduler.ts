// Runs the tasks of plans when they are due. The scheduler writes the next time of a task into the configuration before it starts the task: the
// time survives a restart, and a task that was missed while the node was down runs once.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { BackupState, BackupStateStore, PlanTask, StoredRepository } from './backup-state.ts';
import { planOf } from './plans.ts';
import type { RepositoryTasks } from './repository-tasks.ts';
import type { RunningTasks } from './running-tasks.ts';
import { firstRun, isPlausible, runAfter } from './schedule.ts';

export interface SchedulerDeps {
  readonly state: BackupStateStore;
  readonly running: Pick<RunningTasks, 'taskOf'>;
  readonly tasks: Pick<RepositoryTasks, 'backup' | 'merge'>;
  readonly runsSchedule: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

interface DueTask {
  readonly repository: StoredRepository;
  readonly task: PlanTask;
  readonly dueMs: number;
}

/** The longest pause: the wall clock may be set while the timer runs. */
const checkEveryMs = 60_000;
const retryPauseMs = 10_000;
const pauseMinMs = 50;

export class Scheduler {
  readonly #deps: SchedulerDeps;
  #timer: Timer | null = null;
  #watch: { stop(): void } | null = null;
  #isWorking = false;
  #isStopped = false;

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#watch = this.#deps.state.onChange(() => this.wake());
    this.wake();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch?.stop();
    this.#timer?.cancel();
  }

  /** Call when a task ended or a repository changed. */
  wake(): void {
    if (this.#isStopped || this.#isWorking) return;
    this.#timer?.cancel();
    this.#timer = null;
    this.#isWorking = true;
    this.#runDue().then(
      () => this.#sleep(this.#pauseMs()),
      (error: Error) => {
        this.#deps.log.warn('backup.schedule_failed', { reason: error.message });
        this.#sleep(retryPauseMs);
      },
    );
  }

  #sleep(pauseMs: number | null): void {
    this.#isWorking = false;
    if (this.#isStopped || pauseMs === null) return;
    this.#timer = this.#deps.clock.after(pauseMs, () => this.wake());
  }

  async #runDue(): Promise<void> {
    const { running, runsSchedule } = this.#deps;
    if (!runsSchedule()) return;
    const started = new Set<string>();
    for (const due of this.#planned().filter((planned) => this.#isDue(planned))) {
      const { id } = due.repository;
      // The other tasks of the repository stay due until this one has ended.
      if (started.has(id) || running.taskOf('active', id) !== undefined) continue;
      started.add(id);
      if ((await this.#plan(due)) && !this.#begin(due)) await this.#postpone(due);
    }
  }

  /** A time later than the schedule allows was written before the clock was set back: the task is due now, since that time may be far away. */
  #isDue({ task: { schedule }, dueMs }: DueTask): boolean {
    const nowMs = this.#deps.clock.wallMs();
    return dueMs <= nowMs || !isPlausible(schedule, dueMs, nowMs);
  }

  /** The tasks of all repositories that are not paused, by the time when they are due. */
  #planned(): DueTask[] {
    const { repositories, plans } = this.#deps.state.value;
    const active = Object.values(repositories.active).filter(({ state }) => state === 'active');
    return active
      .flatMap((repository) => {
        const tasks = planOf(plans, repository.plan)?.tasks ?? [];
        return tasks.map((task) => ({ repository, task, dueMs: repository.nextRuns[task.name] ?? 0 }));
      })
      .sort((a, b) => a.dueMs - b.dueMs);
  }

  /** Stores the next run of the task. Resolves with false if the repository was paused or removed, or another node stored it first. */
  async #plan({ repository: { id }, task, dueMs }: DueTask): Promise<boolean> {
    let isDue = false;
    await this.#deps.state.change((before) => {
      const repository = before.repositories.active[id];
      isDue = repository?.state === 'active' && (repository.nextRuns[task.name] ?? 0) === dueMs;
      if (!isDue || repository === undefined) return before;
      const nowMs = this.#deps.clock.wallMs();
      const isKnown = dueMs > 0 && dueMs <= nowMs;
      const nextMs = isKnown ? runAfter(task.schedule, dueMs, nowMs) : firstRun(task.schedule, nowMs);
      return withRepository(before, {
        ...repository,
        nextRuns: { ...repository.nextRuns, [task.name]: nextMs },
      });
    });
    return isDue;
  }

  /** Returns false if another task of the repository was requested meanwhile. */
  #begin({ repository, task }: DueTask): boolean {
    const { tasks, log } = this.#deps;
    try {
      if (task.days === null) tasks.backup(repository, { isFull: task.isFull, planTask: task.name });
      else tasks.merge(repository, { days: task.days, planTask: task.name });
      return true;
    } catch (error) {
      const reason = (error as Error).message;
      log.info('backup.task_postponed', { repository: repository.id, task: task.name, reason });
      return false;
    }
  }

  /** Stores the time at which the task was due as its next run, so that the scheduler tries again. */
  async #postpone({ repository: { id }, task, dueMs }: DueTask): Promise<void> {
    await this.#deps.state.change((before) => {
      const repository = before.repositories.active[id];
      if (repository === undefined) return before;
      return withRepository(before, {
        ...repository,
        nextRuns: { ...repository.nextRuns, [task.name]: dueMs },
      });
    });
  }

  /** The pause until the next planned task or check; null if no task is planned: the next change of the configuration wakes the scheduler. */
  #pauseMs(): number | null {
    const { running, runsSchedule } = this.#deps;
    const next = this.#planned().find(({ repository: { id } }) => running.taskOf('active', id) === undefined);
    if (next === undefined) return null;
    // Checked again later: the node that runs the schedule may end.
    if (!runsSchedule()) return checkEveryMs;
    return Math.max(pauseMinMs, Math.min(checkEveryMs, next.dueMs - this.#deps.clock.wallMs()));
  }
}

const withRepository = (state: BackupState, repository: StoredRepository): BackupState => ({
  ...state,
  repositories: {
    ...state.repositories,
    active: { ...state.repositories.active, [repository.id]: repository },
  },
});

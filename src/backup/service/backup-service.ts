// The backup service of a node: plans and repositories in the configuration, tasks by schedule and on request.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { JobRunner } from '../host/jobs.ts';
import type { NodeAccess } from '../node/backup-node.ts';
import { ArchiveLocations } from './archive-locations.adapter.ts';
import { BackupMetrics } from './backup-metrics.ts';
import { type BackupStateStore, repositoryKinds } from './backup-state.ts';
import { PlansService } from './plans.service.ts';
import { RepositoriesService } from './repositories.service.ts';
import { RepositoryHealth } from './repository-health.ts';
import { RepositoryTasks } from './repository-tasks.ts';
import { type RunningTask, RunningTasks } from './running-tasks.ts';
import { Scheduler } from './scheduler.ts';
import { SettingsService } from './settings.service.ts';
import { TaskHistory } from './task-history.adapter.ts';

export interface BackupServiceDeps {
  readonly state: BackupStateStore;
  readonly runner: JobRunner;
  /** Folders below which archives may be. */
  readonly roots: readonly string[];
  readonly nodeId: string;
  /** Whether this node runs the tasks of the schedule: of several nodes with the service one does. */
  readonly runsSchedule: () => boolean;
  /** Null for an unknown bucket. */
  readonly bucketUuid: (name: string) => string | null | Promise<string | null>;
  /** How the service reaches its own cluster. */
  readonly ownAccess: () => Promise<NodeAccess>;
  /** PEM of the authorities that may have issued a target's certificate: those that the machine trusts, and that of the cluster. */
  readonly authorities: () => Promise<string>;
  /** Called when a task of a repository has failed, with the text of an alert. */
  readonly failed: (repository: string, text: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** How often clients are to read the list of tasks while a task runs. */
const refreshSeconds = 2;

export class BackupService {
  readonly settings: SettingsService;
  readonly plans: PlansService;
  readonly repositories: RepositoriesService;
  readonly tasks: RepositoryTasks;
  readonly running: RunningTasks;
  readonly metrics = new BackupMetrics();
  readonly health: RepositoryHealth;
  readonly #scheduler: Scheduler;

  constructor(deps: BackupServiceDeps) {
    const locations = new ArchiveLocations(deps.roots, deps.clock);
    const history = new TaskHistory({ ...deps, settings: () => deps.state.value.settings });
    this.running = new RunningTasks({
      ...deps,
      history,
      metrics: this.metrics,
      ended: (task) => this.#ended(task, deps),
    });
    this.settings = new SettingsService(deps.state);
    this.plans = new PlansService(deps.state);
    const parts = { ...deps, locations, history, running: this.running };
    this.tasks = new RepositoryTasks(parts);
    this.repositories = new RepositoriesService(parts);
    this.health = new RepositoryHealth({
      ...parts,
      metrics: this.metrics,
      isBusy: (id) => this.running.taskOf('active', id) !== undefined,
      bucketProblem: (repository) => this.tasks.bucketProblem(repository),
    });
    this.#scheduler = new Scheduler({ ...deps, running: this.running, tasks: this.tasks });
  }

  /** For the list of tasks of the cluster. */
  shownTasks(): Record<string, unknown>[] {
    return this.running.all().map(({ repository, record: { name, type, progress } }) => ({
      type: 'backup',
      status: 'running',
      recommendedRefreshPeriod: refreshSeconds,
      repository: repository.id,
      task_name: name,
      task_type: type,
      progress,
    }));
  }

  start(): void {
    void this.#endInterrupted();
    this.health.start();
    this.#scheduler.start();
  }

  async stop(): Promise<void> {
    this.#scheduler.stop();
    this.health.stop();
    await this.running.stop();
  }

  async #endInterrupted(): Promise<void> {
    for (const kind of repositoryKinds)
      for (const repository of this.repositories.list(kind))
        await this.running.endInterrupted(kind, repository);
  }

  #ended({ record, repository }: RunningTask, { failed }: BackupServiceDeps): void {
    if (record.status === 'failed' && record.type !== 'RESTORE')
      failed(
        repository.id,
        `Task ${record.name} of the backup repository ${repository.id} failed: ${record.error}`,
      );
    if (record.status === 'failed') void this.health.check();
    this.#scheduler.wake();
  }
}

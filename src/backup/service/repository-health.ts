// Checks whether the next backup of each active repository can succeed and whether the last one is complete: when the repository appears, and
// then every hour.
import type { Clock, Timer } from '#ports/clock.ts';
import type { JobRunner } from '../host/jobs.ts';
import type { ArchiveLocations } from './archive-locations.adapter.ts';
import type { BackupMetrics } from './backup-metrics.ts';
import type { BackupStateStore, StoredRepository } from './backup-state.ts';

export interface RepositoryHealthDeps {
  readonly state: BackupStateStore;
  readonly locations: Pick<ArchiveLocations, 'check' | 'freeBytes' | 'hasRepository'>;
  readonly runner: JobRunner;
  /** Whether a task runs on the active repository of this id. */
  readonly isBusy: (id: string) => boolean;
  readonly metrics: BackupMetrics;
  readonly bucketProblem: (repository: StoredRepository) => Promise<string | null>;
  readonly clock: Clock;
}

const hourMs = 3_600_000;
const freeBytesMin = 100 << 20;

export class RepositoryHealth {
  readonly #deps: RepositoryHealthDeps;
  readonly #issues = new Map<string, string>();
  readonly #checked = new Set<string>();
  #timer: Timer | null = null;
  #watch: { stop(): void } | null = null;

  constructor(deps: RepositoryHealthDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#watch = this.#deps.state.onChange(() => this.#follow());
    this.#follow();
  }

  stop(): void {
    this.#watch?.stop();
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Null: nothing is wrong. */
  issueOf(id: string): string | null {
    return this.#issues.get(id) ?? null;
  }

  /** Checks all active repositories. Never rejects. */
  async check(): Promise<void> {
    for (const repository of this.#active()) await this.#checkOne(repository);
  }

  #follow(): void {
    const active = this.#active();
    const ids = new Set(active.map(({ id }) => id));
    for (const id of [...this.#checked, ...this.#issues.keys()])
      if (!ids.has(id)) {
        this.#checked.delete(id);
        this.#issues.delete(id);
      }
    for (const repository of active.filter(({ id }) => !this.#checked.has(id))) {
      this.#checked.add(repository.id);
      void this.#checkOne(repository);
    }
    if (active.length > 0) this.#timer ??= this.#deps.clock.after(hourMs, () => void this.#hourly());
  }

  async #hourly(): Promise<void> {
    await this.check();
    if (this.#timer === null) return;
    this.#timer = null;
    this.#follow();
  }

  #active(): StoredRepository[] {
    return Object.values(this.#deps.state.value.repositories.active);
  }

  async #checkOne(repository: StoredRepository): Promise<void> {
    const issue = await this.#issue(repository).catch((error: Error) => error.message);
    const result = issue === null ? 'success' : 'failure';
    const labels = { cluster: 'self', repository: repository.id, state: repository.state, result };
    this.#deps.metrics.add('backup_location_check', labels);
    if (!this.#active().some(({ id }) => id === repository.id)) return;
    if (issue === null) this.#issues.delete(repository.id);
    else this.#issues.set(repository.id, issue);
  }

  async #issue(repository: StoredRepository): Promise<string | null> {
    const { locations, bucketProblem } = this.#deps;
    const { archive, repo } = repository;
    const problem = await bucketProblem(repository);
    if (problem !== null) return `cannot verify bucket exists: ${problem}`;
    await locations.check(archive, repo);
    const free = await locations.freeBytes(archive);
    if (free < freeBytesMin)
      return `${archive} has ${Math.floor(free / (1 << 20))} MiB free; a backup needs ${freeBytesMin / (1 << 20)} MiB`;
    return await this.#manifestIssue(repository);
  }

  /** Null while a task runs: the task may be replacing the manifest, and fails itself if the manifest is damaged. */
  async #manifestIssue({ id, archive, repo }: StoredRepository): Promise<string | null> {
    const { locations, runner, isBusy } = this.#deps;
    if (isBusy(id) || !(await locations.hasRepository(archive, repo))) return null;
    const job = { kind: 'check', folder: `${archive}/${repo}` } as const;
    try {
      await runner.run(job, new AbortController().signal);
      return null;
    } catch (error) {
      return isBusy(id) ? null : `cannot read the newest backup: ${(error as Error).message}`;
    }
  }
}

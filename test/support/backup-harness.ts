// The backup service on a clock that a test advances, with jobs that end when the test ends them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Job, JobResult, JobRunner, RestoreTargetsJob } from '#backup/host/jobs.ts';
import { BackupService } from '#backup/service/backup-service.ts';
import { type BackupState, noBackupState } from '#backup/service/backup-state.ts';
import { type Deferred, deferred } from '#base/deferred.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from './manual-clock.ts';

interface StartedJob {
  readonly job: Job;
  readonly result: Deferred<unknown>;
}

/** The part of the configuration that has the state of the backup service; `restart` keeps it, as a restart of a node does. */
class MemoryState {
  value: BackupState = noBackupState;
  readonly #listeners = new Set<() => void>();

  async change(next: (before: BackupState) => BackupState): Promise<BackupState> {
    this.value = next(this.value);
    for (const listener of [...this.#listeners]) listener();
    return this.value;
  }

  onChange(listener: () => void) {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }
}

export class BackupHarness {
  readonly clock: ManualClock;
  readonly folder = mkdtempSync(join(tmpdir(), 'divan-backup-harness-'));
  readonly state = new MemoryState();
  readonly jobs: StartedJob[] = [];
  readonly failures: string[] = [];
  /** The uuid of the bucket to back up; null: the bucket does not exist. */
  bucketUuid: string | null = 'uuid';
  /** Whether this node is the one that runs the scheduled tasks. */
  isScheduleHere = true;
  /** What a restore would write to. */
  targetsOf: (job: RestoreTargetsJob) => Promise<JobResult<RestoreTargetsJob>> = async () => ({
    cluster: 'own',
    buckets: ['travel'],
  });
  service: BackupService;

  constructor(start: string) {
    this.clock = new ManualClock(Date.parse(start));
    this.service = this.#newService();
  }

  /** Replaces the service by a new one, as a restart of the node does. */
  async restart(): Promise<void> {
    await this.end();
    this.service = this.#newService();
    this.service.start();
  }

  async end(): Promise<void> {
    const ended = this.service.stop();
    for (const { result } of this.jobs) result.reject(new Error('the node stops'));
    await ended;
  }

  /** Starts the service with a plan of these tasks, and a repository. */
  async begin(tasks: readonly object[]): Promise<void> {
    await this.service.plans.create('plan', Buffer.from(JSON.stringify({ tasks })));
    await this.createRepository('travel');
    this.service.start();
  }

  async createRepository(id: string): Promise<void> {
    const body = { plan: 'plan', archive: join(this.folder, id), bucket_name: 'travel' };
    await this.service.repositories.create(id, Buffer.from(JSON.stringify(body)));
  }

  /** Ends the oldest job that runs. */
  finish(problem?: string | Error): void {
    const { job, result } = this.jobs.shift() as StartedJob;
    if (problem !== undefined) result.reject(typeof problem === 'string' ? new Error(problem) : problem);
    else if (job.kind === 'merge') result.resolve(null);
    else result.resolve({ backup: 'b', buckets: [], notes: [], size: 5 });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #newService(): BackupService {
    const runner: JobRunner = {
      run: <J extends Job>(job: J) => {
        if (job.kind === 'restoreTargets') return this.targetsOf(job) as Promise<JobResult<J>>;
        const result = deferred<unknown>();
        this.jobs.push({ job, result });
        return result.promise as Promise<JobResult<J>>;
      },
    };
    return new BackupService({
      state: this.state,
      runner,
      roots: [this.folder],
      nodeId: 'node',
      clock: this.clock,
      random: realRandom,
      log: silentLog,
      runsSchedule: () => this.isScheduleHere,
      bucketUuid: () => this.bucketUuid,
      ownAccess: async () => ({ host: 'h', port: 1, username: 'u', password: 'p' }),
      authorities: async () => '',
      failed: (repository, text) => this.failures.push(`${repository}: ${text}`),
    });
  }
}

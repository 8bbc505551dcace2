// Repositories as the configuration knows them: created with a plan, archived, imported, paused and deleted.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { JobRunner } from '../host/jobs.ts';
import type { RepositoryInfo } from '../host/repository-info.ts';
import type { ExaminedKey, ExaminedVersion } from '../inspect/examine.ts';
import { type ArchiveLocations, LocationError } from './archive-locations.adapter.ts';
import { backupRefusals } from './backup.refusals.ts';
import {
  type BackupState,
  type BackupStateStore,
  type Plan,
  type RepositoryKind,
  repositoryKinds,
  type StoredRepository,
} from './backup-state.ts';
import { bodyField } from './body-fields.ts';
import { idPattern } from './plans.service.ts';
import { planOf } from './plans.ts';
import { bodyOf } from './read-body.ts';
import type { RunningTasks } from './running-tasks.ts';
import { firstRun, runAfter } from './schedule.ts';
import type { ChosenTasks, TaskHistory } from './task-history.adapter.ts';
import { shownTasksText, type TaskRecord } from './task-record.ts';

export interface RepositoriesDeps {
  readonly state: BackupStateStore;
  readonly locations: ArchiveLocations;
  readonly history: TaskHistory;
  readonly running: RunningTasks;
  readonly runner: JobRunner;
  readonly bucketUuid: (name: string) => string | null | Promise<string | null>;
  readonly clock: Clock;
  readonly random: Random;
}

const repositoriesMax = 500;
const text = bodyField.text(/^[^\0]{1,4096}$/s, 'a text');
const optionalText = bodyField.optional(text);
const cloudFields = {
  cloud_credential_name: optionalText,
  cloud_staging_dir: optionalText,
  cloud_credentials_id: optionalText,
  cloud_credentials_key: optionalText,
  cloud_credentials_refresh_token: optionalText,
  cloud_region: optionalText,
  cloud_endpoint: optionalText,
  cloud_force_path_style: bodyField.optional(bodyField.boolean),
};
const createFields = { plan: text, archive: text, bucket_name: optionalText, ...cloudFields };
const importFields = { id: text, archive: text, repo: text, ...cloudFields };
const archiveFields = { id: text };
const examineFields = {
  key: bodyField.text(/^[^\0]{1,250}$/s, 'a key of at most 250 bytes'),
  data_path: bodyField.text(/^[^\0]{1,700}$/s, 'bucket.scope.collection'),
};

export class RepositoriesService {
  readonly #deps: RepositoriesDeps;

  constructor(deps: RepositoriesDeps) {
    this.#deps = deps;
  }

  list(kind: RepositoryKind): StoredRepository[] {
    return Object.values(this.#deps.state.value.repositories[kind]);
  }

  get(kind: RepositoryKind, id: string): StoredRepository {
    return repositoryOrRefusal(this.#deps.state.value, kind, id);
  }

  planOf({ plan }: StoredRepository): Plan | undefined {
    return planOf(this.#deps.state.value.plans, plan);
  }

  async create(id: string, body: Buffer): Promise<void> {
    checkId(id);
    const { state, clock, random, locations } = this.#deps;
    const sent = bodyOf(body, createFields);
    checkCloudFields(sent);
    checkFree(state.value, 'active', id);
    const plan = planOf(state.value.plans, sent.plan);
    if (plan === undefined) throw backupRefusals.planNotFound();
    const bucket = sent.bucket_name === undefined ? null : await this.#bucket(sent.bucket_name);
    const nowMs = clock.wallMs();
    const repository: StoredRepository = {
      id,
      state: 'active',
      plan: plan.name,
      bucket,
      archive: sent.archive,
      repo: random.uuid(),
      createdMs: nowMs,
      updatedMs: nowMs,
      nextRuns: Object.fromEntries(plan.tasks.map((task) => [task.name, firstRun(task.schedule, nowMs)])),
    };
    checkArchiveFree(state.value, sent.archive);
    await orInvalidLocation(() => locations.create(sent.archive));
    await this.#change('active', (repositories, before) => {
      checkFree(before, 'active', id);
      checkArchiveFree(before, sent.archive);
      if (planOf(before.plans, plan.name) === undefined) throw backupRefusals.planNotFound();
      return { ...repositories, [id]: repository };
    });
  }

  async import(body: Buffer): Promise<void> {
    const { state, clock, locations } = this.#deps;
    const sent = bodyOf(body, importFields);
    checkCloudFields(sent);
    const { id, archive, repo } = sent;
    checkId(id);
    if (!/^[0-9A-Za-z][0-9A-Za-z_.-]{0,99}$/.test(repo) || repo.includes('..'))
      throw backupRefusals.invalidBody(undefined, 'repo: must be the name of a folder in the archive');
    checkFree(state.value, 'imported', id);
    await orInvalidLocation(() => locations.checkRepository(archive, repo));
    const nowMs = clock.wallMs();
    await this.#change('imported', (repositories, before) => {
      checkFree(before, 'imported', id);
      for (const kind of repositoryKinds)
        for (const other of Object.values(before.repositories[kind]))
          if (isSameFolder(other.archive, archive) && other.repo === repo)
            throw backupRefusals.invalidLocation(undefined, `${archive}/${repo} is ${kind} as ${other.id}`);
      const imported: StoredRepository = {
        id,
        state: 'imported',
        plan: '',
        bucket: null,
        archive,
        repo,
        createdMs: nowMs,
        updatedMs: nowMs,
        nextRuns: {},
      };
      return { ...repositories, [id]: imported };
    });
  }

  /** Makes an active repository an archived one: it stays readable, and no further tasks write to it. */
  async archive(id: string, body: Buffer): Promise<void> {
    this.get('active', id);
    const { id: newId } = bodyOf(body, archiveFields);
    checkId(newId);
    this.#checkIdle('active', id);
    const updatedMs = this.#deps.clock.wallMs();
    await this.#deps.state.change((before) => {
      const { [id]: active, ...others } = before.repositories.active;
      if (active === undefined) throw backupRefusals.repositoryNotFound(id);
      checkFree(before, 'archived', newId);
      const archived: StoredRepository = { ...active, id: newId, state: 'archived', nextRuns: {}, updatedMs };
      const repositories = {
        ...before.repositories,
        active: others,
        archived: { ...before.repositories.archived, [newId]: archived },
      };
      return { ...before, repositories };
    });
  }

  async pause(id: string): Promise<void> {
    await this.#changeOne(id, (repository) => ({ ...repository, state: 'paused' }));
  }

  /** Runs that were missed meanwhile are left out. */
  async resume(id: string): Promise<void> {
    const nowMs = this.#deps.clock.wallMs();
    await this.#changeOne(id, (repository, plan) => ({
      ...repository,
      state: 'active',
      nextRuns: Object.fromEntries(
        (plan?.tasks ?? []).map(({ name: task, schedule }) => {
          const nextMs = repository.nextRuns[task] ?? firstRun(schedule, nowMs);
          return [task, nextMs > nowMs ? nextMs : runAfter(schedule, nextMs, nowMs)];
        }),
      ),
    }));
  }

  /** Removes an archived or imported repository; with `removesData` also its folder. */
  async delete(kind: RepositoryKind, id: string, removesData: boolean): Promise<void> {
    const { archive, repo } = this.get(kind, id);
    this.#checkIdle(kind, id);
    if (removesData && kind === 'imported')
      throw backupRefusals.invalidQuery(
        'remove_repository: the data of an imported repository is never removed',
      );
    if (removesData) await this.#removeData(archive, repo);
    await this.#change(kind, (repositories) => {
      const { [id]: _deleted, ...others } = repositories;
      return others;
    });
  }

  async removeBackup(id: string, backup: string): Promise<void> {
    const { archive, repo } = this.get('active', id);
    this.#checkIdle('active', id);
    await this.#runJob(archive, repo, 'could not remove backup', (folder, signal) =>
      this.#deps.runner.run({ kind: 'removeBackup', folder, backup }, signal),
    );
  }

  async info(kind: RepositoryKind, id: string): Promise<RepositoryInfo> {
    const { archive, repo } = this.get(kind, id);
    if (!(await this.#hasBackups(archive, repo))) return { size: 0, backups: [] };
    return await this.#runJob(archive, repo, 'could not get repository info', (folder, signal) =>
      this.#deps.runner.run({ kind: 'info', folder }, signal),
    );
  }

  async examine(kind: RepositoryKind, id: string, body: Buffer): Promise<readonly ExaminedVersion[]> {
    const { archive, repo } = this.get(kind, id);
    const { key: documentKey, data_path: path } = bodyOf(body, examineFields);
    const key = examinedKey(documentKey, path);
    if (!(await this.#hasBackups(archive, repo))) return [];
    return await this.#runJob(archive, repo, 'could not examine the repository', (folder, signal) =>
      this.#deps.runner.run({ kind: 'examine', folder, key }, signal),
    );
  }

  /** The newest first. */
  async history(kind: RepositoryKind, id: string, chosen?: ChosenTasks): Promise<TaskRecord[]> {
    const { history, running } = this.#deps;
    const repository = this.get(kind, id);
    const records = await history.read(repository, chosen);
    return records.map((record) => running.current(kind, repository, record));
  }

  /** The history as JSON text. */
  async historyText(kind: RepositoryKind, id: string, chosen: ChosenTasks): Promise<string> {
    return shownTasksText(await this.history(kind, id, chosen), this.#deps.clock);
  }

  async #bucket(bucket: string): Promise<StoredRepository['bucket']> {
    const uuid = await this.#deps.bucketUuid(bucket);
    if (uuid === null) throw backupRefusals.bucketNotFound(bucket);
    return { name: bucket, uuid };
  }

  #checkIdle(kind: RepositoryKind, id: string): void {
    const task = this.#deps.running.taskOf(kind, id);
    if (task !== undefined)
      throw backupRefusals.taskNotSent(undefined, `task ${task.record.name} runs on repository ${id}`);
  }

  async #hasBackups(archive: string, repo: string): Promise<boolean> {
    return await orInvalidLocation(async () => {
      await this.#deps.locations.check(archive, repo);
      return await this.#deps.locations.hasRepository(archive, repo);
    });
  }

  async #removeData(archive: string, repo: string): Promise<void> {
    const { locations, history, runner } = this.#deps;
    if (await orInvalidLocation(() => locations.hasRepository(archive, repo)))
      await this.#runJob(archive, repo, 'could not remove repository', (folder, signal) =>
        runner.run({ kind: 'removeRepository', folder }, signal),
      );
    await history.remove({ archive, repo });
  }

  async #runJob<T>(
    archive: string,
    repo: string,
    refusal: string,
    run: (folder: string, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      await this.#deps.locations.check(archive, repo);
      return await run(`${archive}/${repo}`, new AbortController().signal);
    } catch (error) {
      throw backupRefusals.failed(refusal, (error as Error).message);
    }
  }

  async #changeOne(
    id: string,
    next: (repository: StoredRepository, plan: Plan | undefined) => StoredRepository,
  ): Promise<void> {
    const updatedMs = this.#deps.clock.wallMs();
    await this.#change('active', (repositories, before) => {
      const repository = repositoryOrRefusal(before, 'active', id);
      const plan = planOf(before.plans, repository.plan);
      return { ...repositories, [id]: { ...next(repository, plan), updatedMs } };
    });
  }

  async #change(
    kind: RepositoryKind,
    next: (
      repositories: Readonly<Record<string, StoredRepository>>,
      before: BackupState,
    ) => Record<string, StoredRepository>,
  ): Promise<void> {
    await this.#deps.state.change((before) => ({
      ...before,
      repositories: { ...before.repositories, [kind]: next(before.repositories[kind], before) },
    }));
  }
}

function repositoryOrRefusal(
  { repositories }: BackupState,
  kind: RepositoryKind,
  id: string,
): StoredRepository {
  const repository = Object.hasOwn(repositories[kind], id) ? repositories[kind][id] : undefined;
  if (repository === undefined) throw backupRefusals.repositoryNotFound(id);
  return repository;
}

/** Refuses parameters of object stores for an archive in a folder. An archive in an object store is refused when its location is checked. */
function checkCloudFields(sent: { readonly archive: string } & Readonly<Record<string, unknown>>): void {
  const field = Object.keys(cloudFields).find((name) => sent[name] !== undefined && sent[name] !== false);
  if (field === undefined || sent.archive.includes('://')) return;
  throw backupRefusals.invalidBody(
    undefined,
    `${field}: must be left out: the archive ${sent.archive} is a folder, not in an object store`,
  );
}

function checkId(id: string): void {
  if (!idPattern.test(id)) throw backupRefusals.invalidId('repository');
}

function checkFree({ repositories }: BackupState, kind: RepositoryKind, id: string): void {
  if (Object.hasOwn(repositories[kind], id)) throw backupRefusals.repositoryExists(id);
  const count = repositoryKinds.reduce((sum, one) => sum + Object.keys(repositories[one]).length, 0);
  if (count >= repositoriesMax)
    throw backupRefusals.tooMany(`at most ${repositoriesMax} repositories are possible`);
}

/** Whether two paths of archives are equal; a slash at their end makes no difference. */
function isSameFolder(a: string, b: string): boolean {
  const withoutSlash = (path: string): string => path.replace(/\/$/, '');
  return withoutSlash(a) === withoutSlash(b);
}

function checkArchiveFree({ repositories }: BackupState, archive: string): void {
  for (const kind of repositoryKinds)
    for (const other of Object.values(repositories[kind]))
      if (isSameFolder(other.archive, archive))
        throw backupRefusals.invalidLocation(
          undefined,
          `${archive} is the archive of repository ${other.id}`,
        );
}

/** Names of buckets may contain dots, those of scopes and collections may not. */
function examinedKey(key: string, path: string): ExaminedKey {
  if (Buffer.byteLength(key) > 250)
    throw backupRefusals.invalidBody(undefined, 'key: must be a key of at most 250 bytes');
  const parts = path.split('.');
  if (parts.length < 3) {
    if (parts.length === 1) return { key, bucket: path, scope: '_default', collection: '_default' };
    throw backupRefusals.invalidBody(undefined, 'data_path: must be bucket.scope.collection, or a bucket');
  }
  const [scope = '', collection = ''] = parts.slice(-2);
  return { key, bucket: parts.slice(0, -2).join('.'), scope, collection };
}

async function orInvalidLocation<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof LocationError) throw backupRefusals.invalidLocation(undefined, error.message);
    throw error;
  }
}

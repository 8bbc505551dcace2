// Handlers of the backup service's ports.
import { rfc3339Ms } from '#base/rfc3339.ts';
import { type BoundRoute, bind, type Form, type Params, reply } from '#contract/route.ts';
import { versionJson } from '../inspect/version-json.ts';
import * as contract from './backup.contract.ts';
import { backupRefusals } from './backup.refusals.ts';
import type { BackupService } from './backup-service.ts';
import { type RepositoryKind, repositoryKinds } from './backup-state.ts';
import { planRecord } from './plans.ts';
import { repositoryRecord } from './repository-record.ts';
import { type ChosenTasks, historyMax } from './task-history.adapter.ts';

export const backupRoutes = (service: BackupService): BoundRoute[] => [
  ...settingsRoutes(service),
  ...planRoutes(service),
  ...repositoryReads(service),
  ...repositoryChanges(service),
  ...taskRoutes(service),
];

function settingsRoutes({ settings }: BackupService): BoundRoute[] {
  const change = async ({ body }: { body: Buffer }) => {
    await settings.change(body);
    return reply.empty();
  };
  return [
    bind(contract.GetConfig, () => reply.json(settings.read())),
    bind(contract.PostConfig, change),
    bind(contract.PutConfig, change),
    bind(contract.PatchConfig, change),
  ];
}

function planRoutes({ plans }: BackupService): BoundRoute[] {
  return [
    bind(contract.GetPlans, () => reply.json(plans.list().map(planRecord))),
    bind(contract.GetPlan, ({ params }) => reply.json(planRecord(plans.get(named(params, 'plan'))))),
    bind(contract.CreatePlan, async ({ params, body }) => {
      await plans.create(named(params, 'plan'), body);
      return reply.empty();
    }),
    bind(contract.ReplacePlan, async ({ params, body }) => {
      await plans.replace(named(params, 'plan'), body);
      return reply.empty();
    }),
    bind(contract.RemovePlan, async ({ params }) => {
      await plans.delete(named(params, 'plan'));
      return reply.empty();
    }),
  ];
}

function repositoryReads(service: BackupService): BoundRoute[] {
  const { repositories } = service;
  const records = (kind: RepositoryKind) =>
    repositories.list(kind).map((repository) => repositoryRecord(kind, repository, service));
  return [
    bind(contract.GetCluster, ({ params }) => {
      checkCluster(params);
      const byId = (kind: RepositoryKind) =>
        Object.fromEntries(records(kind).map((record) => [record.id, record]));
      return reply.json({
        name: 'self',
        ...Object.fromEntries(repositoryKinds.map((kind) => [kind, byId(kind)])),
      });
    }),
    bind(contract.GetRepositories, ({ params }) => reply.json(records(kindIn(params)))),
    bind(contract.GetRepository, ({ params }) => {
      const kind = kindIn(params);
      return reply.json(repositoryRecord(kind, repositories.get(kind, idIn(params)), service));
    }),
    bind(contract.GetRepositoryInfo, async ({ params }) => {
      const kind = kindIn(params);
      const { repo } = repositories.get(kind, idIn(params));
      const { size, backups } = await repositories.info(kind, idIn(params));
      return reply.json({ name: repo, size, count: backups.length, backups });
    }),
    bind(contract.GetTaskHistory, async ({ params, query }) => {
      const text = await repositories.historyText(kindIn(params), idIn(params), chosenTasks(query));
      return reply.jsonText(text);
    }),
    bind(contract.ExamineDocument, async ({ params, body }) => {
      const versions = await repositories.examine(kindIn(params), idIn(params), body);
      const lines = versions.map(
        (version) => `${versionJson({ ...version, metadata: { ...version.metadata, locktime: 0 } })}\n`,
      );
      return reply.jsonText(lines.join(''));
    }),
  ];
}

function repositoryChanges({ repositories }: BackupService): BoundRoute[] {
  return [
    bind(contract.CreateRepository, async ({ params, body }) => {
      checkCluster(params);
      await repositories.create(idIn(params), body);
      return reply.empty();
    }),
    bind(contract.ImportRepository, async ({ params, body }) => {
      checkCluster(params);
      await repositories.import(body);
      return reply.empty();
    }),
    bind(contract.ArchiveRepository, async ({ params, body }) => {
      checkCluster(params);
      await repositories.archive(idIn(params), body);
      return reply.empty();
    }),
    bind(contract.PauseRepository, async ({ params }) => {
      checkCluster(params);
      await repositories.pause(idIn(params));
      return reply.empty();
    }),
    bind(contract.ResumeRepository, async ({ params }) => {
      checkCluster(params);
      await repositories.resume(idIn(params));
      return reply.empty();
    }),
    bind(contract.DeleteBackup, async ({ params }) => {
      checkCluster(params);
      await repositories.removeBackup(idIn(params), named(params, 'backup'));
      return reply.empty();
    }),
    bind(contract.DeleteRepository, async ({ params, query }) => {
      const kind = kindIn(params);
      if (kind === 'active')
        throw backupRefusals.invalidQuery('an active repository must be archived before it is deleted');
      await repositories.delete(kind, idIn(params), removesData(query as Form));
      return reply.empty();
    }),
  ];
}

function taskRoutes({ repositories, tasks }: BackupService): BoundRoute[] {
  const active = (params: Params) => {
    checkCluster(params);
    return repositories.get('active', idIn(params));
  };
  return [
    bind(contract.RunBackup, async ({ params, body }) =>
      reply.json({ task_name: await tasks.requestBackup(active(params), body) }),
    ),
    bind(contract.RunMerge, ({ params, body }) =>
      reply.json({ task_name: tasks.requestMerge(active(params), body) }),
    ),
    bind(contract.RunRestore, async ({ params, body }) => {
      const kind = kindIn(params);
      const repository = repositories.get(kind, idIn(params));
      return reply.json({ task_name: await tasks.requestRestore(kind, repository, body) });
    }),
  ];
}

const named = (params: Params, name: string): string => params[name] as string;
const idIn = (params: Params): string => named(params, 'repository');

function checkCluster(params: Params): void {
  const name = named(params, 'cluster');
  if (name !== 'self') throw backupRefusals.otherCluster(undefined, `Invalid cluster: ${name}`);
}

function kindIn(params: Params): RepositoryKind {
  checkCluster(params);
  const state = named(params, 'state');
  const kind = repositoryKinds.find((one) => one === state);
  if (kind === undefined)
    throw backupRefusals.invalidQuery(
      `invalid repository state ${state}; the states are ${repositoryKinds.join(', ')}`,
    );
  return kind;
}

/** couchbase-cli sends `True` and `False`. */
function removesData({ remove_repository: sent = 'false' }: Form): boolean {
  const text = sent.toLowerCase();
  if (text !== 'true' && text !== 'false')
    throw backupRefusals.invalidQuery('remove_repository: must be true or false');
  return text === 'true';
}

/** Which records of the history a query asks for, and how many of the newest. */
function chosenTasks(query: Form): ChosenTasks {
  const { first, limit, taskName } = query;
  const firstMs = first === undefined ? Number.NEGATIVE_INFINITY : rfc3339Ms(first);
  if (Number.isNaN(firstMs))
    throw backupRefusals.invalidQuery('first: must be a time by RFC 3339, such as 2026-01-31T22:00:00Z');
  const count = limit === undefined ? historyMax : Number(limit);
  if (!/^\d+$/.test(limit ?? '0') || count > historyMax || (limit !== undefined && count < 1))
    throw backupRefusals.invalidQuery(`limit: must be an integer from 1 to ${historyMax}`);
  const matches: ChosenTasks['matches'] = ({ startMs, name }) =>
    startMs >= firstMs && (taskName === undefined || name === taskName);
  return { matches, count };
}

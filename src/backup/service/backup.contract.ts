// The REST API of the backup service, on ports of its own.
import { type JsonSchema, shape } from '#contract/json-schema.ts';
import { type BodyKind, defineRoute, type RouteDefinition } from '#contract/route.ts';

/** Only full administrators: a backup has all documents, and a restore may write any. */
const access = { kind: 'roles', roles: ['admin'], permission: 'cluster.admin.backup!all' } as const;
const base = '/api/v1';
const cluster = `${base}/cluster/:cluster`;
const ofActive = `${cluster}/repository/active/:repository`;
const ofAny = `${cluster}/repository/:state/:repository`;
const bodyBytesMax = 4 << 20;

const object = shape.record(shape.any);
const answers = {
  object: { json: object },
  list: { json: { type: 'array', items: object } as JsonSchema },
  text: { text: 'text/plain' as const },
};
const raw: BodyKind = 'raw';
const otherStatuses = {
  400: 'A name, a parameter or the body is wrong; `extras` says what.',
  404: 'The plan or the repository does not exist.',
  500: 'The task could not be started or has failed; `extras` says why.',
};
const json = { bodyKind: raw, bodyBytesMax, access, otherStatuses } as const;

export const GetConfig = defineRoute({
  id: 'backup.settings',
  method: 'GET',
  path: `${base}/config`,
  access,
  answer: answers.object,
  doc: 'How many days and MiB of the history of tasks are kept.',
});
const changeConfig = <const M extends RouteDefinition['method']>(method: M) =>
  defineRoute({
    ...json,
    id: `backup.change_settings_${method.toLowerCase()}`,
    method,
    path: `${base}/config`,
    doc: 'Sets `history_rotation_period` (days, 1–365), `history_rotation_size` (MiB, 5–200) or both.',
  });
export const PostConfig = changeConfig('POST');
export const PutConfig = changeConfig('PUT');
export const PatchConfig = changeConfig('PATCH');

export const GetPlans = defineRoute({
  id: 'backup.plans',
  method: 'GET',
  path: `${base}/plan`,
  access,
  answer: answers.list,
  doc: 'All plans, with the two predefined ones.',
});
export const GetPlan = defineRoute({
  id: 'backup.plan',
  method: 'GET',
  path: `${base}/plan/:plan`,
  access,
  answer: answers.object,
  otherStatuses,
  doc: 'One plan.',
});
export const CreatePlan = defineRoute({
  ...json,
  id: 'backup.create_plan',
  method: 'POST',
  path: `${base}/plan/:plan`,
  doc: 'Creates a plan: `services`, of which `data` is one, and `tasks`, each with `name`, `task_type` (`BACKUP`, `MERGE`), `schedule` (`frequency` 1–200, `period` of units or a weekday, `time`), `full_backup`, and for a merge `options` with `offset_start` and `offset_end` in days.',
});
export const ReplacePlan = defineRoute({
  ...json,
  id: 'backup.replace_plan',
  method: 'PUT',
  path: `${base}/plan/:plan`,
  doc: 'Replaces a plan that no active repository uses.',
});
export const RemovePlan = defineRoute({
  id: 'backup.delete_plan',
  method: 'DELETE',
  path: `${base}/plan/:plan`,
  access,
  otherStatuses,
  doc: 'Deletes a plan that no active repository uses.',
});

export const GetCluster = defineRoute({
  id: 'backup.cluster',
  method: 'GET',
  path: cluster,
  access,
  answer: answers.object,
  otherStatuses,
  doc: 'All repositories, by state and id; the only cluster is `self`.',
});
export const GetRepositories = defineRoute({
  id: 'backup.repositories',
  method: 'GET',
  path: `${cluster}/repository/:state`,
  access,
  answer: answers.list,
  otherStatuses,
  doc: 'The repositories of a state: `active`, `archived` or `imported`.',
});
export const GetRepository = defineRoute({
  id: 'backup.repository',
  method: 'GET',
  path: ofAny,
  access,
  answer: answers.object,
  otherStatuses,
  doc: 'One repository: its plan, archive, health, running tasks and when the others run next.',
});
export const GetRepositoryInfo = defineRoute({
  id: 'backup.repository_info',
  method: 'GET',
  path: `${ofAny}/info`,
  access,
  answer: answers.object,
  otherStatuses,
  doc: 'The backups of a repository with their sizes, buckets, scopes and collections.',
});
export const GetTaskHistory = defineRoute({
  id: 'backup.task_history',
  method: 'GET',
  path: `${ofAny}/taskHistory`,
  access,
  answer: answers.list,
  otherStatuses,
  doc: 'The tasks of a repository, the newest first: those that started at `first` or later, at most `limit`, of the name `taskName`.',
});
export const CreateRepository = defineRoute({
  ...json,
  id: 'backup.create_repository',
  method: 'POST',
  path: ofActive,
  doc: 'Creates a repository with a `plan` in the folder `archive`, for one bucket (`bucket_name`) or all.',
});
export const ImportRepository = defineRoute({
  ...json,
  id: 'backup.import_repository',
  method: 'POST',
  path: `${cluster}/repository/import`,
  doc: 'Makes the backups of another service or of `divan backup` available for reading: `id`, `archive`, and `repo`, the name of the folder in the archive.',
});
export const ArchiveRepository = defineRoute({
  ...json,
  id: 'backup.archive_repository',
  method: 'POST',
  path: `${ofActive}/archive`,
  doc: 'Archives a repository: no more tasks write to it; its backups can still be read and restored under the new `id` that is sent.',
});
export const PauseRepository = defineRoute({
  id: 'backup.pause_repository',
  method: 'POST',
  path: `${ofActive}/pause`,
  access,
  otherStatuses,
  doc: 'Stops the schedule of a repository until it is resumed.',
});
export const ResumeRepository = defineRoute({
  id: 'backup.resume_repository',
  method: 'POST',
  path: `${ofActive}/resume`,
  access,
  otherStatuses,
  doc: 'Restarts the schedule of a paused repository; runs that were missed meanwhile are left out.',
});
export const RunBackup = defineRoute({
  ...json,
  id: 'backup.run_backup',
  method: 'POST',
  path: `${ofActive}/backup`,
  answer: answers.object,
  doc: 'Starts a backup now and returns the name of its task; `full_backup` makes it a full one.',
});
export const RunMerge = defineRoute({
  ...json,
  id: 'backup.run_merge',
  method: 'POST',
  path: `${ofActive}/merge`,
  answer: answers.object,
  doc: 'Starts a merge of the backups of the days from `offset_end` to `offset_start` days ago.',
});
export const RunRestore = defineRoute({
  ...json,
  id: 'backup.run_restore',
  method: 'POST',
  path: `${ofAny}/restore`,
  answer: answers.object,
  doc: 'Starts a restore into `target`, with its `user` and `password`, or without a target into this cluster.',
});
export const ExamineDocument = defineRoute({
  ...json,
  id: 'backup.examine',
  method: 'POST',
  path: `${ofAny}/examine`,
  changesNothing: true,
  answer: answers.text,
  doc: 'The versions of the document `key` of `data_path` (`bucket.scope.collection`) in all backups: JSON objects one after the other.',
});
export const DeleteBackup = defineRoute({
  id: 'backup.delete_backup',
  method: 'DELETE',
  path: `${ofActive}/backups/:backup`,
  access,
  otherStatuses,
  doc: 'Deletes a backup that no other one continues.',
});
export const DeleteRepository = defineRoute({
  id: 'backup.delete_repository',
  method: 'DELETE',
  path: ofAny,
  access,
  otherStatuses,
  doc: 'Removes an archived or imported repository from the list; `remove_repository=true` deletes the backups of an archived one too.',
});

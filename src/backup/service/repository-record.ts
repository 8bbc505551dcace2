// A repository as the API shows it.

import type { BackupService } from './backup-service.ts';
import type { RepositoryKind, StoredRepository } from './backup-state.ts';
import { localTimeText } from './schedule.ts';
import { shownTask } from './task-record.ts';

export function repositoryRecord(kind: RepositoryKind, repository: StoredRepository, service: BackupService) {
  const { id, plan, bucket, state, archive, repo, createdMs, updatedMs } = repository;
  const running = service.running.taskOf(kind, id)?.record;
  const health = kind === 'active' ? service.health.issueOf(id) : null;
  return {
    id,
    plan_name: plan,
    ...(bucket !== null && { bucket }),
    state,
    archive,
    repo,
    ...(kind === 'active' && { scheduled: scheduledTasks(repository, service) }),
    ...(running?.isScheduled === false && { running_one_off: { [running.name]: shownTask(running) } }),
    ...(running?.isScheduled === true && { running_tasks: { [running.name]: shownTask(running) } }),
    version: 1,
    ...(kind === 'active' && {
      health: { healthy: health === null, ...(health !== null && { health_issue: health }) },
    }),
    creation_time: localTimeText(createdMs),
    update_time: localTimeText(updatedMs),
  };
}

function scheduledTasks(repository: StoredRepository, { repositories }: BackupService) {
  const tasks = repositories.planOf(repository)?.tasks ?? [];
  return Object.fromEntries(
    tasks.map(({ name, type }) => {
      const next_run = localTimeText(repository.nextRuns[name] ?? repository.updatedMs);
      return [name, { name, task_type: type, next_run }];
    }),
  );
}

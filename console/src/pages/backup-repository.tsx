// One repository: its backups on a time line, what can be done with each, and its tasks.
import { useEffect, useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button } from '../kit/controls.tsx';
import { ConfirmByName } from '../kit/dialog.tsx';
import { count, size, time } from '../kit/format.ts';
import { Badge, Loaded, Page, Problem, Progress } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { TimeLine } from '../kit/time-line.tsx';
import { useAction, useResource } from '../kit/use-resource.ts';
import { addressTo } from '../shell/router.ts';
import {
  type Backup,
  type BackupTask,
  isFullBackup,
  type RepositoryBackups,
  type RepositoryState,
  timeOfBackup,
} from './backup-answers.ts';
import { RestoreDialog } from './backup-restore.tsx';

interface RepositoryViewProps {
  readonly state: RepositoryState;
  readonly id: string;
}

type OpenDialog = { readonly dialog: 'restore' | 'delete'; readonly backup: Backup };

const [whileRunningMs, whileIdleMs] = [1_000, 10_000];
const tasksMax = 20;

export function RepositoryView({ state, id }: RepositoryViewProps) {
  const path = { state, repository: id };
  const backups = useResource(
    (signal) => call<RepositoryBackups>(routes.backups, { path, signal }),
    [state, id],
  );
  const tasks = useResource(
    (signal) => call<BackupTask[]>(routes.backupTasks, { path, query: { limit: tasksMax }, signal }),
    [state, id],
    (list) => (list.some(isRunning) ? whileRunningMs : whileIdleMs),
  );
  const [open, setOpen] = useState<OpenDialog>();
  const action = useAction();
  // Reading the backups takes the service some work, so only once a task has ended.
  const newestEnd = tasks.data?.find((task) => !isRunning(task))?.end;
  useEffect(() => {
    if (newestEnd !== undefined) backups.reload();
  }, [newestEnd]);
  const close = () => {
    setOpen(undefined);
    backups.reload();
    tasks.reload();
  };
  const backUp = (full_backup: boolean) =>
    void action.run(async () => {
      await call(routes.runBackup, { path, json: { full_backup } });
      tasks.reload();
    });
  return (
    <Page title={`Backups in ${id}`} actions={state === 'active' && <BackUpButtons onBackUp={backUp} />}>
      <p>
        <a href={addressTo(['backups'])}>All repositories</a>
      </p>
      <Problem problem={action.problem} />
      <Loaded from={backups}>
        {(found) => <Backups state={state} backups={found.backups} onOpen={setOpen} />}
      </Loaded>
      <h2>Tasks</h2>
      <Loaded from={tasks}>
        {(list) => (
          <Table
            caption="Tasks"
            columns={taskColumns}
            rows={list}
            rowKey={({ task_name, start }) => `${task_name} ${start}`}
            empty="No task has run."
          />
        )}
      </Loaded>
      {open && (
        <BackupDialog
          state={state}
          repository={id}
          backups={backups.data?.backups ?? []}
          open={open}
          onClose={close}
        />
      )}
    </Page>
  );
}

function BackUpButtons({ onBackUp }: { onBackUp: (isFull: boolean) => void }) {
  return (
    <div class="row">
      <Button onClick={() => onBackUp(true)}>Back up everything</Button>
      <Button kind="main" onClick={() => onBackUp(false)}>
        Back up now
      </Button>
    </div>
  );
}

interface BackupsProps {
  readonly state: RepositoryState;
  readonly backups: readonly Backup[];
  readonly onOpen: (open: OpenDialog) => void;
}

function Backups({ state, backups, onOpen }: BackupsProps) {
  return (
    <>
      <BackupsOnLine backups={backups} />
      <Table
        caption="Backups"
        columns={backupColumns(state, onOpen)}
        rows={[...backups].reverse()}
        rowKey={({ date }) => date}
        empty="There are no backups yet."
      />
    </>
  );
}

interface BackupDialogProps {
  readonly state: RepositoryState;
  readonly repository: string;
  /** All backups of the repository, the oldest first. */
  readonly backups: readonly Backup[];
  readonly open: OpenDialog;
  readonly onClose: () => void;
}

function BackupDialog({ state, repository, backups, open, onClose }: BackupDialogProps) {
  const { dialog, backup } = open;
  if (dialog === 'restore')
    return (
      <RestoreDialog
        state={state}
        repository={repository}
        backups={backups}
        chosen={backup}
        onClose={onClose}
      />
    );
  return (
    <ConfirmByName
      title="Delete the backup"
      name={backup.date}
      action="Delete"
      onConfirm={() => call(routes.deleteBackup, { path: { repository, backup: backup.date } })}
      onClose={onClose}
    >
      Its state can no longer be restored. A backup that another one continues cannot be deleted.
    </ConfirmByName>
  );
}

function BackupsOnLine({ backups }: { backups: readonly Backup[] }) {
  const complete = backups.filter((backup) => backup.complete);
  if (complete.length === 0) return null;
  const events = complete.map((backup) => {
    const at = timeOfBackup(backup);
    return { name: `${time(at)}, ${backup.type}`, at, isLarge: isFullBackup(backup) };
  });
  return <TimeLine label={`${count(complete.length)} backups by time; large: full ones`} events={events} />;
}

const isRunning = ({ status }: BackupTask): boolean => status === 'running';

const backupColumns = (
  state: RepositoryState,
  onOpen: (open: OpenDialog) => void,
): readonly Column<Backup>[] => [
  { label: 'Time', value: (backup) => time(timeOfBackup(backup)) },
  {
    label: 'Type',
    value: ({ type, complete }) => (complete ? type : <Badge kind="caution">interrupted</Badge>),
  },
  { label: 'Buckets', value: ({ buckets }) => buckets.map(({ name }) => name).join(', ') },
  {
    label: 'Documents',
    isNumber: true,
    value: ({ buckets }) => count(buckets.reduce((sum, { items }) => sum + items, 0)),
  },
  { label: 'Size', isNumber: true, value: (backup) => size(backup.size) },
  {
    label: 'Actions',
    value: (backup) => (
      <div class="row">
        {backup.complete && (
          <Button label={`Restore ${backup.date}`} onClick={() => onOpen({ dialog: 'restore', backup })}>
            Restore
          </Button>
        )}
        {state === 'active' && (
          <Button
            kind="danger"
            label={`Delete ${backup.date}`}
            onClick={() => onOpen({ dialog: 'delete', backup })}
          >
            Delete
          </Button>
        )}
      </div>
    ),
  },
];

const kindsByStatus: Readonly<Record<string, 'good' | 'wrong'>> = { done: 'good', failed: 'wrong' };

const taskColumns: readonly Column<BackupTask>[] = [
  { label: 'Task', value: ({ type }) => type.toLowerCase() },
  {
    label: 'State',
    value: (task) =>
      isRunning(task) ? (
        <Progress label={`Progress of ${task.task_name}`} share={(task.node_runs[0]?.progress ?? 0) / 100} />
      ) : (
        <Badge kind={kindsByStatus[task.status] ?? 'plain'}>{task.status}</Badge>
      ),
  },
  { label: 'Began', value: ({ start }) => time(start) },
  { label: 'Ended', value: (task) => (isRunning(task) ? '' : time(task.end)) },
  { label: 'Problem', value: ({ error }) => error },
];

// Repositories of the backup service: create, pause, archive, remove; the page of one shows its backups.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket } from '../api/types.ts';
import { Button, Field, Select } from '../kit/controls.tsx';
import { ConfirmByName, FormDialog } from '../kit/dialog.tsx';
import { time } from '../kit/format.ts';
import { Badge, Loaded, Page, Problem } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useForm } from '../kit/use-form.ts';
import { useAction, useResource } from '../kit/use-resource.ts';
import type { PageProps } from '../shell/page-entry.ts';
import { addressTo } from '../shell/router.ts';
import type { Repositories, Repository, RepositoryState } from './backup-answers.ts';
import { RepositoryView } from './backup-repository.tsx';

const states: readonly RepositoryState[] = ['active', 'archived', 'imported'];

export function Content({ address }: PageProps) {
  const [part, id] = address.parts;
  const state = states.find((one) => one === part);
  return state === undefined || id === undefined ? (
    <RepositoryList />
  ) : (
    <RepositoryView key={`${state} ${id}`} state={state} id={id} />
  );
}

interface Row {
  readonly kind: RepositoryState;
  readonly repository: Repository;
}

type OpenDialog =
  | { readonly dialog: 'create' }
  | { readonly dialog: 'archive' | 'forget'; readonly row: Row };

function RepositoryList() {
  const load = (signal: AbortSignal) => call<Repositories>(routes.backupRepositories, { signal });
  const found = useResource(load, [], 10_000);
  const [open, setOpen] = useState<OpenDialog>();
  const action = useAction();
  const isMissing = found.problem?.status === 404;
  const close = () => {
    setOpen(undefined);
    found.reload();
  };
  const pause = ({ id, state }: Repository) =>
    void action.run(async () => {
      const route = state === 'paused' ? routes.resumeBackups : routes.pauseBackups;
      await call(route, { path: { repository: id } });
      found.reload();
    });
  return (
    <Page
      title="Backups"
      actions={
        !isMissing && (
          <Button kind="main" onClick={() => setOpen({ dialog: 'create' })}>
            Create a repository
          </Button>
        )
      }
    >
      <Problem problem={action.problem} />
      {isMissing ? (
        <p class="empty">
          This node does not run the backup service. Start it with <span class="mono">--services</span> that
          contain backup, or open the console of a node that does.
        </p>
      ) : (
        <Loaded from={found}>
          {(repositories) => (
            <Table
              caption="Repositories"
              columns={repositoryColumns(pause, setOpen)}
              rows={states.flatMap((kind) =>
                Object.values(repositories[kind]).map((repository) => ({ kind, repository })),
              )}
              rowKey={({ kind, repository }) => `${kind} ${repository.id}`}
              empty="There are no repositories. Create one: its plan says when backups run."
            />
          )}
        </Loaded>
      )}
      {open?.dialog === 'create' && <CreateDialog onClose={close} />}
      {open?.dialog === 'archive' && <ArchiveDialog id={open.row.repository.id} onClose={close} />}
      {open?.dialog === 'forget' && (
        <ConfirmByName
          title="Forget the repository"
          name={open.row.repository.id}
          action="Forget"
          onConfirm={() =>
            call(routes.deleteBackupRepository, {
              path: { state: open.row.kind, repository: open.row.repository.id },
            })
          }
          onClose={close}
        >
          Its backups stay in {open.row.repository.archive}.
        </ConfirmByName>
      )}
    </Page>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const plans = useResource((signal) => call<{ name: string }[]>(routes.backupPlans, { signal }));
  const buckets = useResource((signal) => call<Bucket[]>(routes.buckets, { signal }));
  const form = useForm({ id: '', plan: '', archive: '', bucket_name: '' });
  const { id, archive, bucket_name } = form.values;
  const names = plans.data?.map(({ name }) => name) ?? [];
  const plan = form.values.plan || (names[0] ?? '');
  const create = () =>
    call(routes.createBackupRepository, {
      path: { repository: id },
      json: { plan, archive, ...(bucket_name !== '' && { bucket_name }) },
    });
  return (
    <FormDialog title="Create a repository" action="Create" form={form} onClose={onClose} onSubmit={create}>
      <Problem problem={plans.problem ?? buckets.problem} />
      <Field label="Repository" {...form.text('id')} required />
      <Select label="Plan" {...form.choice('plan')} value={plan} options={names} />
      <Field
        label="Folder"
        {...form.text('archive')}
        required
        mono
        hint="An absolute path on the node, below a folder that --backup-root allows; by default the folder backups of the data folder."
      />
      <Select
        label="Bucket"
        {...form.choice('bucket_name')}
        options={[['', 'all'], ...(buckets.data ?? []).map(({ name }) => name)]}
      />
    </FormDialog>
  );
}

function ArchiveDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const form = useForm({ id });
  return (
    <FormDialog
      title={`Archive ${id}`}
      action="Archive"
      form={form}
      onClose={onClose}
      onSubmit={() =>
        call(routes.archiveBackupRepository, { path: { repository: id }, json: { id: form.values.id } })
      }
    >
      <p>No task writes to the repository any more. Its backups can still be restored.</p>
      <Field label="Name in the list of archived ones" {...form.text('id')} required />
    </FormDialog>
  );
}

const repositoryColumns = (
  onPause: (repository: Repository) => void,
  onOpen: (open: OpenDialog) => void,
): readonly Column<Row>[] => [
  {
    label: 'Repository',
    value: ({ kind, repository: { id } }) => <a href={addressTo(['backups', kind, id])}>{id}</a>,
  },
  { label: 'State', value: ({ repository }) => <State repository={repository} /> },
  { label: 'Plan', value: ({ repository }) => repository.plan_name },
  { label: 'Bucket', value: ({ repository }) => repository.bucket?.name ?? 'all' },
  { label: 'Next run', value: ({ repository }) => nextRun(repository) },
  {
    label: 'Actions',
    value: (row) => {
      const { kind, repository } = row;
      if (kind !== 'active')
        return (
          <Button
            kind="danger"
            label={`Forget ${repository.id}`}
            onClick={() => onOpen({ dialog: 'forget', row })}
          >
            Forget
          </Button>
        );
      return (
        <div class="row">
          <Button onClick={() => onPause(repository)}>
            {repository.state === 'paused' ? 'Resume' : 'Pause'}
          </Button>
          <Button
            kind="danger"
            label={`Archive ${repository.id}`}
            onClick={() => onOpen({ dialog: 'archive', row })}
          >
            Archive
          </Button>
        </div>
      );
    },
  },
];

function State({ repository: { state, health } }: { repository: Repository }) {
  if (health?.healthy === false) return <Badge kind="wrong">{health.health_issue ?? 'unhealthy'}</Badge>;
  return <Badge kind={state === 'active' ? 'good' : 'plain'}>{state}</Badge>;
}

function nextRun({ state, scheduled = {} }: Repository): string {
  const [first] = Object.values(scheduled).sort((a, b) => Date.parse(a.next_run) - Date.parse(b.next_run));
  return state !== 'active' || first === undefined ? '' : `${first.name}, ${time(first.next_run)}`;
}

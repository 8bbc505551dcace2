// Replication to other clusters: references to them, and the buckets that are replicated.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Task } from '../api/types.ts';
import { Button } from '../kit/controls.tsx';
import { ConfirmByName } from '../kit/dialog.tsx';
import { count } from '../kit/format.ts';
import { Badge, Loaded, Page, Problem } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useAction, useResource } from '../kit/use-resource.ts';
import { useTasks } from '../kit/use-tasks.ts';
import { ReferenceDialog, ReplicationDialog } from './xdcr-dialogs.tsx';

interface Reference {
  readonly name: string;
  readonly hostname: string;
  readonly uuid: string;
  readonly connectivityStatus?: string;
  readonly demandEncryption: boolean;
}

type Open =
  | { readonly what: 'reference' | 'replication' }
  | { readonly what: 'delete reference'; readonly name: string }
  | { readonly what: 'delete replication'; readonly id: string };

export function Content() {
  const references = useResource((signal) => call<Reference[]>(routes.remoteClusters, { signal }), [], 5_000);
  const tasks = useTasks();
  const [open, setOpen] = useState<Open>();
  const action = useAction();
  const close = () => {
    setOpen(undefined);
    references.reload();
    tasks.reload();
  };
  const pause = (id: string, pauseRequested: boolean) =>
    void action.run(async () => {
      await call(routes.replicationSettings, { path: { replication: id }, form: { pauseRequested } });
      tasks.reload();
    });
  return (
    <Page
      title="Replication"
      actions={
        <div class="row">
          <Button onClick={() => setOpen({ what: 'reference' })}>Add a cluster</Button>
          <Button
            kind="main"
            disabled={!references.data?.length}
            onClick={() => setOpen({ what: 'replication' })}
          >
            Replicate a bucket
          </Button>
        </div>
      }
    >
      <Problem problem={action.problem} />
      <h2>Other clusters</h2>
      <Loaded from={references}>
        {(list) => (
          <Table
            caption="Other clusters"
            columns={referenceColumns((name) => setOpen({ what: 'delete reference', name }))}
            rows={list}
            rowKey={({ uuid, name }) => `${uuid} ${name}`}
            empty="No other cluster is known. Add one to replicate buckets to it."
          />
        )}
      </Loaded>
      <h2>Replications</h2>
      <Loaded from={tasks}>
        {(list) => (
          <Table
            caption="Replications"
            columns={replicationColumns(pause, (id) => setOpen({ what: 'delete replication', id }))}
            rows={list.filter(({ type }) => type === 'xdcr')}
            rowKey={({ id }) => id ?? ''}
            empty="No bucket is replicated."
          />
        )}
      </Loaded>
      {open?.what === 'reference' && <ReferenceDialog onClose={close} />}
      {open?.what === 'replication' && (
        <ReplicationDialog clusters={references.data?.map(({ name }) => name) ?? []} onClose={close} />
      )}
      {open?.what === 'delete reference' && (
        <ConfirmByName
          title="Forget the cluster"
          name={open.name}
          action="Forget"
          onConfirm={() => call(routes.deleteRemoteCluster, { path: { name: open.name } })}
          onClose={close}
        >
          Replications to it must be deleted first.
        </ConfirmByName>
      )}
      {open?.what === 'delete replication' && (
        <ConfirmByName
          title="Delete the replication"
          name={targetOf(open.id)}
          action="Delete"
          onConfirm={() => call(routes.deleteReplication, { path: { replication: open.id } })}
          onClose={close}
        >
          Changes are no longer sent. Documents at the target stay.
        </ConfirmByName>
      )}
    </Page>
  );
}

/** An id consists of the cluster's uuid, the bucket and the target bucket. */
const targetOf = (id: string): string => id.split('/').slice(1).join('/');

const referenceColumns = (onDelete: (name: string) => void): readonly Column<Reference>[] => [
  { label: 'Name', value: ({ name }) => name },
  { label: 'Address', value: ({ hostname }) => hostname },
  {
    label: 'State',
    value: ({ connectivityStatus = 'unknown' }) => (
      <Badge kind={connectivityStatus === 'RC_OK' ? 'good' : 'caution'}>{connectivityStatus}</Badge>
    ),
  },
  { label: 'Encrypted', value: ({ demandEncryption }) => (demandEncryption ? 'yes' : 'no') },
  {
    label: 'Actions',
    value: ({ name }) => (
      <Button kind="danger" label={`Forget ${name}`} onClick={() => onDelete(name)}>
        Forget
      </Button>
    ),
  },
];

const replicationColumns = (
  onPause: (id: string, pauseRequested: boolean) => void,
  onDelete: (id: string) => void,
): readonly Column<Task>[] => [
  { label: 'Bucket', value: ({ source }) => source },
  { label: 'Target', value: ({ target }) => target },
  {
    label: 'State',
    value: ({ status }) => <Badge kind={status === 'running' ? 'good' : 'plain'}>{status}</Badge>,
  },
  { label: 'Changes left', isNumber: true, value: ({ changesLeft }) => count(changesLeft) },
  { label: 'Written', isNumber: true, value: ({ docsWritten }) => count(docsWritten) },
  { label: 'Errors', isNumber: true, value: ({ errors }) => count(errors?.length) },
  {
    label: 'Actions',
    value: ({ id = '', pauseRequested = false }) => (
      <div class="row">
        <Button onClick={() => onPause(id, !pauseRequested)}>{pauseRequested ? 'Resume' : 'Pause'}</Button>
        <Button kind="danger" label={`Delete ${targetOf(id)}`} onClick={() => onDelete(id)}>
          Delete
        </Button>
      </div>
    ),
  },
];

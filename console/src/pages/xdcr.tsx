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
import { chartsOf } from './metric-boards.ts';
import { MetricCharts } from './metric-charts.tsx';
import {
  type Reference,
  ReferenceDialog,
  ReplicationDialog,
  ReplicationSettingsDialog,
} from './xdcr-dialogs.tsx';

type OpenDialog =
  | { readonly dialog: 'reference' | 'replication' }
  | { readonly dialog: 'edit reference'; readonly reference: Reference }
  | { readonly dialog: 'delete reference'; readonly name: string }
  | { readonly dialog: 'edit replication' | 'delete replication'; readonly id: string };

export function Content() {
  const references = useResource((signal) => call<Reference[]>(routes.remoteClusters, { signal }), [], 5_000);
  const tasks = useTasks();
  const [open, setOpen] = useState<OpenDialog>();
  const action = useAction();
  const close = () => {
    setOpen(undefined);
    references.reload();
    tasks.reload();
  };
  const pause = (id: string, pauseRequested: boolean) =>
    void action.run(async () => {
      await call(routes.changeReplication, { path: { replication: id }, form: { pauseRequested } });
      tasks.reload();
    });
  return (
    <Page
      title="Replication"
      actions={
        <div class="row">
          <Button onClick={() => setOpen({ dialog: 'reference' })}>Add a cluster</Button>
          <Button
            kind="main"
            disabled={!references.data?.length}
            onClick={() => setOpen({ dialog: 'replication' })}
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
            columns={referenceColumns(setOpen)}
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
            columns={replicationColumns(pause, setOpen)}
            rows={list.filter(({ type }) => type === 'xdcr')}
            rowKey={({ id }) => id ?? ''}
            empty="No bucket is replicated."
          />
        )}
      </Loaded>
      {tasks.data?.some(({ type }) => type === 'xdcr') && (
        <MetricCharts specs={chartsOf('replication')} seconds={ratesSeconds} />
      )}
      {open && (
        <XdcrDialog open={open} clusters={references.data?.map(({ name }) => name) ?? []} onClose={close} />
      )}
    </Page>
  );
}

interface XdcrDialogProps {
  readonly open: OpenDialog;
  /** The names of the other clusters. */
  readonly clusters: readonly string[];
  readonly onClose: () => void;
}

function XdcrDialog({ open, clusters, onClose }: XdcrDialogProps) {
  switch (open.dialog) {
    case 'reference':
      return <ReferenceDialog onClose={onClose} />;
    case 'edit reference':
      return <ReferenceDialog reference={open.reference} onClose={onClose} />;
    case 'replication':
      return <ReplicationDialog clusters={clusters} onClose={onClose} />;
    case 'edit replication':
      return <ReplicationSettingsDialog id={open.id} onClose={onClose} />;
    case 'delete reference':
      return (
        <ConfirmByName
          title="Forget the cluster"
          name={open.name}
          action="Forget"
          onConfirm={() => call(routes.deleteRemoteCluster, { path: { name: open.name } })}
          onClose={onClose}
        >
          Replications to it must be deleted first.
        </ConfirmByName>
      );
    case 'delete replication':
      return (
        <ConfirmByName
          title="Delete the replication"
          name={targetOf(open.id)}
          action="Delete"
          onConfirm={() => call(routes.deleteReplication, { path: { replication: open.id } })}
          onClose={onClose}
        >
          Changes are no longer sent. Documents at the target stay.
        </ConfirmByName>
      );
  }
}

/** Rates are drawn over the last five minutes. */
const ratesSeconds = 300;

/** An id consists of the cluster's uuid, the bucket and the target bucket. */
const targetOf = (id: string): string => id.split('/').slice(1).join('/');

const referenceColumns = (onOpen: (open: OpenDialog) => void): readonly Column<Reference>[] => [
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
    value: (reference) => (
      <div class="row">
        <Button
          label={`Edit ${reference.name}`}
          onClick={() => onOpen({ dialog: 'edit reference', reference })}
        >
          Edit
        </Button>
        <Button
          kind="danger"
          label={`Forget ${reference.name}`}
          onClick={() => onOpen({ dialog: 'delete reference', name: reference.name })}
        >
          Forget
        </Button>
      </div>
    ),
  },
];

const replicationColumns = (
  onPause: (id: string, pauseRequested: boolean) => void,
  onOpen: (open: OpenDialog) => void,
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
        <Button label={`Edit ${targetOf(id)}`} onClick={() => onOpen({ dialog: 'edit replication', id })}>
          Edit
        </Button>
        <Button
          kind="danger"
          label={`Delete ${targetOf(id)}`}
          onClick={() => onOpen({ dialog: 'delete replication', id })}
        >
          Delete
        </Button>
      </div>
    ),
  },
];

// The forms of a reference to another cluster and of a replication.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket } from '../api/types.ts';
import { Field, Select } from '../kit/controls.tsx';
import { FormDialog } from '../kit/dialog.tsx';
import { useForm } from '../kit/use-form.ts';
import { useResource } from '../kit/use-resource.ts';

export function ReferenceDialog({ onClose }: { onClose: () => void }) {
  const form = useForm({ name: '', hostname: '', username: '', password: '' });
  return (
    <FormDialog
      title="Add a cluster"
      action="Add"
      form={form}
      onClose={onClose}
      onSubmit={() => call(routes.addRemoteCluster, { form: form.values })}
    >
      <Field label="Cluster name" {...form.text('name')} required />
      <Field
        label="Address of one of its nodes"
        {...form.text('hostname')}
        required
        hint="For example 10.0.0.9:8091"
      />
      <Field label="User there" {...form.text('username')} required />
      <Field label="Password there" type="password" {...form.text('password')} required />
    </FormDialog>
  );
}

interface ReplicationDialogProps {
  readonly clusters: readonly string[];
  readonly onClose: () => void;
}

export function ReplicationDialog({ clusters, onClose }: ReplicationDialogProps) {
  const buckets = useResource((signal) => call<Bucket[]>(routes.buckets, { signal }));
  const names = buckets.data?.map(({ name }) => name) ?? [];
  const form = useForm({ fromBucket: '', toCluster: clusters[0] ?? '', toBucket: '', filterExpression: '' });
  const fromBucket = form.values.fromBucket || (names[0] ?? '');
  const start = () => {
    const { toCluster, toBucket, filterExpression } = form.values;
    const filter = filterExpression === '' ? {} : { filterExpression };
    return call(routes.createReplication, {
      form: { fromBucket, toCluster, toBucket, replicationType: 'continuous', ...filter },
    });
  };
  return (
    <FormDialog title="Replicate a bucket" action="Start" form={form} onClose={onClose} onSubmit={start}>
      <Select label="Bucket" {...form.choice('fromBucket')} value={fromBucket} options={names} />
      <Select label="To the cluster" {...form.choice('toCluster')} options={clusters} />
      <Field label="Bucket there" {...form.text('toBucket')} required />
      <Field
        label="Filter expression"
        {...form.text('filterExpression')}
        mono
        hint="Empty: all documents are sent."
      />
    </FormDialog>
  );
}

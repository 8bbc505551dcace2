// The buckets of a cluster.
import { useState } from 'preact/hooks';
import { Button, EditAndDelete, Field, Select } from '../../kit/controls.tsx';
import { ConfirmByName, FormDialog } from '../../kit/dialog.tsx';
import { Badge, Loaded } from '../../kit/notices.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { useForm } from '../../kit/use-form.ts';
import { useResource } from '../../kit/use-resource.ts';
import { call } from '../api/client.ts';
import { type Bucket, routes } from '../api/routes.ts';
import type { PartProps } from './cluster-part.ts';

type OpenDialog =
  | { readonly dialog: 'create' }
  | { readonly dialog: 'edit' | 'delete'; readonly bucket: Bucket };

const everyMs = 5_000;

export function Buckets({ cluster: { id } }: PartProps) {
  const buckets = useResource((signal) => call(routes.buckets, { path: { id }, signal }), [id], everyMs);
  const [open, setOpen] = useState<OpenDialog>();
  const close = () => {
    setOpen(undefined);
    buckets.reload();
  };
  const columns: readonly Column<Bucket>[] = [
    { label: 'Name', value: ({ name }) => name },
    { label: 'Memory in MiB on each node', isNumber: true, value: ({ memoryQuota }) => memoryQuota },
    { label: 'Copies', isNumber: true, value: ({ replicas }) => replicas },
    { label: 'Conflicts', value: ({ conflictResolution }) => conflictNames[conflictResolution] },
    {
      label: 'State',
      value: ({ status }) => <Badge kind={status === 'healthy' ? 'good' : 'caution'}>{status}</Badge>,
    },
    {
      label: 'Actions',
      value: (bucket) => (
        <EditAndDelete name={bucket.name} onOpen={(dialog) => setOpen({ dialog, bucket })} />
      ),
    },
  ];
  return (
    <>
      <div class="row">
        <Button kind="main" onClick={() => setOpen({ dialog: 'create' })}>
          Create bucket
        </Button>
      </div>
      <Loaded from={buckets}>
        {(list) => (
          <Table
            caption="Buckets"
            columns={columns}
            rows={list}
            rowKey={({ name }) => name}
            empty="There are no buckets. Create one to store documents."
          />
        )}
      </Loaded>
      {open?.dialog === 'create' && <CreateDialog cluster={id} onClose={close} />}
      {open?.dialog === 'edit' && <EditDialog cluster={id} bucket={open.bucket} onClose={close} />}
      {open?.dialog === 'delete' && (
        <ConfirmByName
          title="Delete the bucket"
          name={open.bucket.name}
          action="Delete bucket"
          onConfirm={() => call(routes.deleteBucket, { path: { id }, body: { name: open.bucket.name } })}
          onClose={close}
        >
          This deletes the bucket with all its documents. It cannot be undone.
        </ConfirmByName>
      )}
    </>
  );
}

const conflictNames = { seqno: 'by revision', lww: 'by time' } as const;
const replicaNumbers = ['0', '1', '2', '3'];
const replicasHint =
  'Each copy needs one more node. With copies but one node only, durable writes are refused.';

interface DialogProps {
  readonly cluster: string;
  readonly onClose: () => void;
}

function CreateDialog({ cluster, onClose }: DialogProps) {
  const form = useForm({
    name: '',
    memoryQuota: '100',
    replicas: '0',
    conflictResolution: 'seqno' as 'seqno' | 'lww',
  });
  const { values } = form;
  const submit = () =>
    call(routes.createBucket, {
      path: { id: cluster },
      body: { ...values, memoryQuota: Number(values.memoryQuota), replicas: Number(values.replicas) },
    });
  return (
    <FormDialog title="Create a bucket" action="Create" form={form} onSubmit={submit} onClose={onClose}>
      <Field label="Bucket name" {...form.text('name')} required />
      <Field label="Memory in MiB on each node" type="number" {...form.text('memoryQuota')} required />
      <Select
        label="Copies on other nodes"
        {...form.choice('replicas')}
        options={replicaNumbers}
        hint={replicasHint}
      />
      <Select
        label="Conflict resolution of replications"
        {...form.choice('conflictResolution')}
        options={Object.entries(conflictNames)}
      />
    </FormDialog>
  );
}

function EditDialog({ cluster, bucket, onClose }: DialogProps & { bucket: Bucket }) {
  const form = useForm({ memoryQuota: String(bucket.memoryQuota), replicas: String(bucket.replicas) });
  // The cloud takes a list of buckets, and begins the name of a field with the number of the bucket in the list.
  const problemOf = (field: string) => form.problemOf(`0.${field}`) ?? form.problemOf(field);
  const submit = () =>
    call(routes.changeBuckets, {
      path: { id: cluster },
      body: [
        {
          name: bucket.name,
          memoryQuota: Number(form.values.memoryQuota),
          replicas: Number(form.values.replicas),
        },
      ],
    });
  return (
    <FormDialog title={`Edit ${bucket.name}`} action="Save" form={form} onSubmit={submit} onClose={onClose}>
      <Field
        label="Memory in MiB on each node"
        type="number"
        {...form.text('memoryQuota')}
        problem={problemOf('memoryQuota')}
        required
      />
      <Select
        label="Copies on other nodes"
        {...form.choice('replicas')}
        problem={problemOf('replicas')}
        options={replicaNumbers}
        hint={replicasHint}
      />
    </FormDialog>
  );
}

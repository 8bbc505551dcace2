// Buckets: create, change, flush, compact, delete, and their scopes and collections.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket, Task } from '../api/types.ts';
import { Button } from '../kit/controls.tsx';
import { ConfirmByName } from '../kit/dialog.tsx';
import { count, size } from '../kit/format.ts';
import { Loaded, Page, Problem, Progress } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useAction, useResource } from '../kit/use-resource.ts';
import { useTasks } from '../kit/use-tasks.ts';
import { addressTo } from '../shell/router.ts';
import { BucketDialog } from './bucket-dialog.tsx';

type OpenDialog =
  | { readonly dialog: 'create' }
  | { readonly dialog: 'edit' | 'flush' | 'delete'; readonly bucket: Bucket };

export function Content() {
  const buckets = useResource((signal) => call<Bucket[]>(routes.buckets, { signal }), [], 5_000);
  const tasks = useTasks();
  const [open, setOpen] = useState<OpenDialog>();
  const action = useAction();
  const run = (route: CompactionRoute, bucket: Bucket) =>
    void action.run(async () => {
      await call(route, { path: { bucket: bucket.name } });
      tasks.reload();
    });
  const columns: readonly Column<Bucket>[] = [
    ...figureColumns,
    actionColumn({ tasks: tasks.data ?? [], onOpen: setOpen, onRun: run }),
  ];
  const close = () => {
    setOpen(undefined);
    buckets.reload();
  };
  return (
    <Page
      title="Buckets"
      actions={
        <Button kind="main" onClick={() => setOpen({ dialog: 'create' })}>
          Create bucket
        </Button>
      }
    >
      <Problem problem={action.problem ?? tasks.problem} />
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
      {open?.dialog === 'create' && <BucketDialog onClose={close} />}
      {open?.dialog === 'edit' && <BucketDialog bucket={open.bucket} onClose={close} />}
      {(open?.dialog === 'flush' || open?.dialog === 'delete') && (
        <DestroyDialog {...destructions[open.dialog]} bucket={open.bucket} onClose={close} />
      )}
    </Page>
  );
}

type CompactionRoute = typeof routes.compactBucket | typeof routes.cancelCompaction;

interface ActionOptions {
  readonly tasks: readonly Task[];
  readonly onOpen: (open: OpenDialog) => void;
  readonly onRun: (route: CompactionRoute, bucket: Bucket) => void;
}

const actionColumn = ({ tasks, onOpen, onRun }: ActionOptions): Column<Bucket> => ({
  label: 'Actions',
  value: (bucket) => {
    const compaction = tasks.find((task) => task.type === 'bucket_compaction' && task.bucket === bucket.name);
    return (
      <div class="row">
        <Button onClick={() => onOpen({ dialog: 'edit', bucket })}>Edit</Button>
        {bucket.controllers.flush !== undefined && (
          <Button onClick={() => onOpen({ dialog: 'flush', bucket })}>Flush</Button>
        )}
        {compaction ? (
          <>
            <Progress label={`Compaction of ${bucket.name}`} share={(compaction.progress ?? 0) / 100} />
            <Button onClick={() => onRun(routes.cancelCompaction, bucket)}>Cancel</Button>
          </>
        ) : (
          <Button onClick={() => onRun(routes.compactBucket, bucket)}>Compact</Button>
        )}
        <Button
          kind="danger"
          onClick={() => onOpen({ dialog: 'delete', bucket })}
          label={`Delete ${bucket.name}`}
        >
          Delete
        </Button>
      </div>
    );
  },
});

interface Destruction {
  readonly title: string;
  readonly action: string;
  readonly route: typeof routes.flushBucket | typeof routes.deleteBucket;
  readonly effect: (documents: string) => string;
}

const destructions: Readonly<Record<'flush' | 'delete', Destruction>> = {
  flush: {
    title: 'Flush the bucket',
    action: 'Remove all documents',
    route: routes.flushBucket,
    effect: (documents) => `This removes all ${documents} documents of the bucket.`,
  },
  delete: {
    title: 'Delete the bucket',
    action: 'Delete bucket',
    route: routes.deleteBucket,
    effect: (documents) => `This deletes the bucket with its ${documents} documents.`,
  },
};

interface DestroyDialogProps extends Destruction {
  readonly bucket: Bucket;
  readonly onClose: () => void;
}

function DestroyDialog({ title, action, route, effect, bucket, onClose }: DestroyDialogProps) {
  return (
    <ConfirmByName
      title={title}
      name={bucket.name}
      action={action}
      onConfirm={() => call(route, { path: { bucket: bucket.name } })}
      onClose={onClose}
    >
      {effect(count(bucket.basicStats.itemCount))} It cannot be undone.
    </ConfirmByName>
  );
}

const figureColumns: readonly Column<Bucket>[] = [
  { label: 'Name', value: ({ name }) => <a href={addressTo(['documents', name])}>{name}</a> },
  { label: 'Type', value: ({ bucketType }) => (bucketType === 'membase' ? 'native' : bucketType) },
  { label: 'Items', isNumber: true, value: ({ basicStats }) => count(basicStats.itemCount) },
  { label: 'Operations/s', isNumber: true, value: ({ basicStats }) => count(basicStats.opsPerSec) },
  {
    label: 'Memory',
    isNumber: true,
    value: ({ basicStats, quota }) => `${size(basicStats.memUsed)} of ${size(quota.ram)}`,
  },
  { label: 'Disk', isNumber: true, value: ({ basicStats }) => size(basicStats.diskUsed) },
  {
    label: 'Collections',
    value: ({ name }) => (
      <a href={addressTo(['collections', name])} aria-label={`Collections of ${name}`}>
        Collections
      </a>
    ),
  },
];

// The form of a restore into this cluster, with a preview of what it would change.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket, Manifest } from '../api/types.ts';
import { Checkbox } from '../kit/controls.tsx';
import { FormDialog } from '../kit/dialog.tsx';
import { count, time } from '../kit/format.ts';
import { Loaded } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useForm } from '../kit/use-form.ts';
import { useResource } from '../kit/use-resource.ts';
import { type Backup, type RepositoryState, timeOfBackup } from './backup-answers.ts';
import {
  type CollectionPreview,
  type PresentBucket,
  previewOf,
  type RestorePreview,
} from './backup-preview.ts';

interface RestoreDialogProps {
  readonly state: RepositoryState;
  readonly repository: string;
  /** All backups of the repository, the oldest first. */
  readonly backups: readonly Backup[];
  readonly chosen: Backup;
  readonly onClose: () => void;
}

export function RestoreDialog({ state, repository, backups, chosen, onClose }: RestoreDialogProps) {
  const form = useForm({ auto_create_buckets: false, force_updates: false });
  const present = useResource((signal) => presentBuckets(chosen, signal), [chosen.date]);
  const { auto_create_buckets: createsBuckets, force_updates: isForced } = form.values;
  const preview = present.data && previewOf(backups, chosen.date, present.data, { createsBuckets, isForced });
  const restore = () =>
    call(routes.restoreBackup, {
      path: { state, repository },
      json: { end: chosen.date, auto_create_buckets: createsBuckets, force_updates: isForced },
    });
  return (
    <FormDialog
      title={`Restore the state of ${time(timeOfBackup(chosen))}`}
      action="Restore"
      danger={isForced}
      disabled={preview === undefined || preview.missing.length > 0}
      form={form}
      onClose={onClose}
      onSubmit={restore}
    >
      <Checkbox label="Create buckets that are missing" {...form.flag('auto_create_buckets')} />
      <Checkbox label="Also replace what has changed or was deleted since" {...form.flag('force_updates')} />
      <Loaded from={present}>{() => preview && <Preview preview={preview} isForced={isForced} />}</Loaded>
    </FormDialog>
  );
}

interface PreviewProps {
  readonly preview: RestorePreview;
  readonly isForced: boolean;
}

function Preview({ preview: { collections, missing, deletionsMax }, isForced }: PreviewProps) {
  return (
    <>
      <h3>What would change</h3>
      {missing.length > 0 && (
        <p class="notice caution">
          These buckets are missing: {missing.join(', ')}. Create them, or let the restore create them.
        </p>
      )}
      <Table
        caption="What would change"
        columns={previewColumns}
        rows={collections}
        rowKey={({ path }) => path}
        empty="The backup has no collections."
      />
      <p class="quiet">
        {isForced
          ? 'All documents get the version of the backup, also where they have changed or were deleted since. '
          : 'Documents that the bucket never had are written; what has changed or was deleted since stays so. '}
        Documents that the backup does not have stay.
        {deletionsMax > 0 && ` Up to ${count(deletionsMax)} deletions are repeated.`}
      </p>
    </>
  );
}

const previewColumns: readonly Column<CollectionPreview>[] = [
  { label: 'Collection', value: ({ path }) => path },
  {
    label: 'Backup, at most',
    isNumber: true,
    value: ({ documentsMax }) => (documentsMax === null ? 'not counted' : count(documentsMax)),
  },
  {
    label: 'Bucket now',
    isNumber: true,
    value: ({ present }) => (present === null ? 'none' : count(present)),
  },
  { label: 'Effect', value: ({ effect }) => effect },
];

/** The buckets of the cluster that the backup contains too. */
async function presentBuckets(
  { buckets: wanted }: Backup,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PresentBucket>> {
  const names = new Set(wanted.map(({ name }) => name));
  const buckets = await call<Bucket[]>(routes.buckets, { signal });
  const present = buckets
    .filter(({ name }) => names.has(name))
    .map((bucket) => presentBucket(bucket, signal));
  return new Map(await Promise.all(present));
}

async function presentBucket(
  { name: bucket, basicStats }: Bucket,
  signal: AbortSignal,
): Promise<[string, PresentBucket]> {
  const { scopes } = await call<Manifest>(routes.scopes, { path: { bucket }, signal });
  const collections = scopes.flatMap((scope) => scope.collections.map(({ name }) => `${scope.name}.${name}`));
  return [bucket, { documents: basicStats.itemCount ?? 0, collections: new Set(collections) }];
}

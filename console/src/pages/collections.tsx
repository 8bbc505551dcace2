// Scopes and collections of a bucket: list, create, drop.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket, Manifest } from '../api/types.ts';
import { Button, Field, Select } from '../kit/controls.tsx';
import { ConfirmByName, FormDialog } from '../kit/dialog.tsx';
import { Loaded, Page } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useForm } from '../kit/use-form.ts';
import { useResource } from '../kit/use-resource.ts';
import type { PageProps } from '../shell/page-entry.ts';
import { addressTo, go } from '../shell/router.ts';

interface Row {
  readonly scope: string;
  /** Null for a scope without collections. */
  readonly collection: string | null;
}

type OpenDialog =
  | { readonly dialog: 'scope' | 'collection' }
  | { readonly dialog: 'drop'; readonly row: Row };

export function Content({ address }: PageProps) {
  const buckets = useResource((signal) => call<Bucket[]>(routes.buckets, { signal }));
  const list = buckets.data?.filter(({ bucketType }) => bucketType !== 'memcached') ?? [];
  const bucket = address.parts[0] ?? list[0]?.name;
  return (
    <Loaded from={buckets}>
      {() =>
        bucket === undefined ? (
          <Page title="Collections">
            <p class="empty">
              There are no buckets. <a href={addressTo(['buckets'])}>Create one</a> first.
            </p>
          </Page>
        ) : (
          <Collections key={bucket} bucket={bucket} names={list.map(({ name }) => name)} />
        )
      }
    </Loaded>
  );
}

function Collections({ bucket, names }: { bucket: string; names: readonly string[] }) {
  const manifest = useResource(
    (signal) => call<Manifest>(routes.scopes, { path: { bucket }, signal }),
    [bucket],
  );
  const [open, setOpen] = useState<OpenDialog>();
  const close = () => {
    setOpen(undefined);
    manifest.reload();
  };
  const scopes = manifest.data?.scopes ?? [];
  return (
    <Page
      title="Collections"
      actions={
        <div class="row">
          <Button onClick={() => setOpen({ dialog: 'scope' })}>Create scope</Button>
          <Button kind="main" onClick={() => setOpen({ dialog: 'collection' })}>
            Create collection
          </Button>
        </div>
      }
    >
      <Select label="Bucket" value={bucket} options={names} onChange={(name) => go(['collections', name])} />
      <Loaded from={manifest}>
        {() => (
          <Table
            caption="Collections"
            columns={columnsFor(bucket, (row) => setOpen({ dialog: 'drop', row }))}
            rows={scopes.flatMap(rowsOf)}
            rowKey={({ scope, collection }) => `${scope}.${collection}`}
            empty="The bucket has no collections. Create one."
          />
        )}
      </Loaded>
      {(open?.dialog === 'scope' || open?.dialog === 'collection') && (
        <CreateDialog
          kind={open.dialog}
          bucket={bucket}
          scopes={scopes.map(({ name }) => name)}
          onClose={close}
        />
      )}
      {open?.dialog === 'drop' && <DropDialog bucket={bucket} row={open.row} onClose={close} />}
    </Page>
  );
}

const rowsOf = ({ name, collections }: Manifest['scopes'][number]): Row[] =>
  collections.length === 0
    ? [{ scope: name, collection: null }]
    : collections.map((collection) => ({ scope: name, collection: collection.name }));

const columnsFor = (bucket: string, onDrop: (row: Row) => void): Column<Row>[] => [
  {
    label: 'Collection',
    value: ({ scope, collection }) =>
      collection === null ? (
        <span class="quiet">none</span>
      ) : (
        <a href={addressTo(['documents', bucket, scope, collection])}>{collection}</a>
      ),
  },
  { label: 'Scope', value: ({ scope }) => scope },
  {
    label: 'Actions',
    value: (row) => {
      const name = row.collection ?? row.scope;
      return (
        name !== '_default' &&
        !row.scope.startsWith('_system') && (
          <Button kind="danger" label={`Drop ${name}`} onClick={() => onDrop(row)}>
            Drop
          </Button>
        )
      );
    },
  },
];

interface CreateDialogProps {
  readonly kind: 'scope' | 'collection';
  readonly bucket: string;
  readonly scopes: readonly string[];
  readonly onClose: () => void;
}

function CreateDialog({ kind, bucket, scopes, onClose }: CreateDialogProps) {
  const form = useForm({ name: '', scope: scopes[0] ?? '_default' });
  const { name, scope } = form.values;
  const create = () =>
    kind === 'scope'
      ? call(routes.createScope, { path: { bucket }, form: { name } })
      : call(routes.createCollection, { path: { bucket, scope }, form: { name } });
  return (
    <FormDialog title={`Create a ${kind}`} action="Create" form={form} onSubmit={create} onClose={onClose}>
      {kind === 'collection' && <Select label="Scope" {...form.choice('scope')} options={scopes} />}
      <Field
        label={kind === 'scope' ? 'Scope name' : 'Collection name'}
        {...form.text('name')}
        required
        hint="Letters, digits and _ - %, at most 251; not beginning with _ or %."
      />
    </FormDialog>
  );
}

function DropDialog({ bucket, row, onClose }: { bucket: string; row: Row; onClose: () => void }) {
  const { scope, collection } = row;
  const drop = async () => {
    if (collection === null) await call(routes.dropScope, { path: { bucket, scope } });
    else await call(routes.dropCollection, { path: { bucket, scope, collection } });
  };
  const name = collection ?? scope;
  return (
    <ConfirmByName title={`Drop ${name}`} name={name} action="Drop" onConfirm={drop} onClose={onClose}>
      This deletes the {collection === null ? 'scope' : 'collection'} with all its documents and indexes. It
      cannot be undone.
    </ConfirmByName>
  );
}

// Documents of a collection: browse by key, find by key or prefix, create, edit, delete, import, export.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket, Manifest } from '../api/types.ts';
import { Button, Field, Select } from '../kit/controls.tsx';
import { Loaded, Page, Problem } from '../kit/notices.tsx';
import { useResource } from '../kit/use-resource.ts';
import type { PageProps } from '../shell/page-entry.ts';
import { addressTo, go } from '../shell/router.ts';
import { DocumentDialog } from './document-dialog.tsx';
import { DocumentList } from './document-list.tsx';
import type { CollectionPath } from './document-pages.ts';
import { ExportDialog, ImportDialog } from './transfer-dialogs.tsx';

export function Content({ address }: PageProps) {
  const [wanted, scope = '_default', collection = '_default'] = address.parts;
  const buckets = useResource((signal) => call<Bucket[]>(routes.buckets, { signal }));
  const bucket = wanted ?? buckets.data?.find(({ bucketType }) => bucketType !== 'memcached')?.name;
  if (buckets.data && bucket === undefined)
    return (
      <Page title="Documents">
        <p class="empty">
          There are no buckets. <a href={addressTo(['buckets'])}>Create one</a> to store documents.
        </p>
      </Page>
    );
  return (
    <Loaded from={buckets}>
      {(list) => (
        <Collection
          key={`${bucket} ${scope} ${collection}`}
          names={list.map(({ name }) => name)}
          path={{ bucket: bucket as string, scope, collection }}
          prefix={address.query['prefix'] ?? ''}
        />
      )}
    </Loaded>
  );
}

interface CollectionProps {
  readonly names: readonly string[];
  readonly path: CollectionPath;
  readonly prefix: string;
}

type OpenDialog =
  | { readonly dialog: 'document'; readonly key: string | null }
  | { readonly dialog: 'import' | 'export' };

function Collection({ names, path, prefix }: CollectionProps) {
  const [open, setOpen] = useState<OpenDialog>();
  /** Counts the changes, after which the list is read again. */
  const [changes, setChanges] = useState(0);
  const close = (isChanged: boolean) => {
    setOpen(undefined);
    if (isChanged) setChanges(changes + 1);
  };
  return (
    <Page
      title="Documents"
      actions={
        <div class="row">
          <Button onClick={() => setOpen({ dialog: 'import' })}>Import</Button>
          <Button onClick={() => setOpen({ dialog: 'export' })}>Export</Button>
          <Button kind="main" onClick={() => setOpen({ dialog: 'document', key: null })}>
            Create document
          </Button>
        </div>
      }
    >
      <CollectionChoice names={names} path={path} />
      <KeySearch
        prefix={prefix}
        onPrefix={(text) =>
          go(['documents', path.bucket, path.scope, path.collection], text ? { prefix: text } : {})
        }
        onKey={(key) => setOpen({ dialog: 'document', key })}
      />
      <DocumentList
        path={path}
        prefix={prefix}
        changes={changes}
        onOpen={(key) => setOpen({ dialog: 'document', key })}
      />
      {open?.dialog === 'document' && <DocumentDialog path={path} documentKey={open.key} onClose={close} />}
      {open?.dialog === 'import' && <ImportDialog path={path} onClose={() => close(true)} />}
      {open?.dialog === 'export' && <ExportDialog path={path} prefix={prefix} onClose={() => close(false)} />}
    </Page>
  );
}

function CollectionChoice({ names, path }: { names: readonly string[]; path: CollectionPath }) {
  const manifest = useResource(
    (signal) => call<Manifest>(routes.scopes, { path: { bucket: path.bucket }, signal }),
    [path.bucket],
  );
  const scopes = manifest.data?.scopes ?? [];
  const collections = scopes.find(({ name }) => name === path.scope)?.collections ?? [];
  const withCurrent = (list: readonly { readonly name: string }[], current: string) => [
    ...new Set([...list.map(({ name }) => name), current]),
  ];
  const firstOf = (scope: string) => {
    const inScope = scopes.find(({ name }) => name === scope)?.collections ?? [];
    return inScope.find(({ name }) => name === '_default')?.name ?? inScope[0]?.name ?? '_default';
  };
  return (
    <>
      <Problem problem={manifest.problem} />
      <div class="row fields">
        <Select
          label="Bucket"
          value={path.bucket}
          options={withCurrent(
            names.map((name) => ({ name })),
            path.bucket,
          )}
          onChange={(bucket) => go(['documents', bucket])}
        />
        <Select
          label="Scope"
          value={path.scope}
          options={withCurrent(scopes, path.scope)}
          onChange={(scope) => go(['documents', path.bucket, scope, firstOf(scope)])}
        />
        <Select
          label="Collection"
          value={path.collection}
          options={withCurrent(collections, path.collection)}
          onChange={(collection) => go(['documents', path.bucket, path.scope, collection])}
        />
      </div>
    </>
  );
}

interface KeySearchProps {
  readonly prefix: string;
  readonly onPrefix: (prefix: string) => void;
  readonly onKey: (key: string) => void;
}

function KeySearch({ prefix, onPrefix, onKey }: KeySearchProps) {
  const [text, setText] = useState(prefix);
  return (
    <form
      class="row fields"
      onSubmit={(event) => {
        event.preventDefault();
        onPrefix(text);
      }}
    >
      <Field label="Key or its beginning" type="search" value={text} onInput={setText} />
      <div class="row">
        <Button submit>Filter by beginning</Button>
        <Button disabled={text === ''} onClick={() => onKey(text)}>
          Open this key
        </Button>
      </div>
    </form>
  );
}

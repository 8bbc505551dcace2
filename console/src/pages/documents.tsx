// Documents of a collection: browse by key, find by key or prefix, create, edit, delete.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket, Manifest } from '../api/types.ts';
import { Button, Field, Select } from '../kit/controls.tsx';
import { Loaded, Page, Problem } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useResource } from '../kit/use-resource.ts';
import type { PageProps } from '../shell/pages.ts';
import { addressTo, go } from '../shell/router.ts';
import { DocumentDialog } from './document-dialog.tsx';

export interface CollectionPath {
  readonly bucket: string;
  readonly scope: string;
  readonly collection: string;
}

interface Row {
  readonly id: string;
  readonly doc?: { readonly json?: string; readonly base64?: string };
}

const pageRows = 25;

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

function Collection({ names, path, prefix }: CollectionProps) {
  /** The first keys of the pages before and of this one. */
  const [starts, setStarts] = useState<readonly string[]>([prefix]);
  const [open, setOpen] = useState<{ readonly key: string | null }>();
  const start = starts.at(-1) ?? prefix;
  const rows = useResource(
    (signal) =>
      call<{ rows: Row[] }>(routes.documents, { path: { ...path }, query: pageQuery(start, prefix), signal }),
    [path.bucket, path.scope, path.collection, start, prefix],
  );
  const columns: readonly Column<Row>[] = [
    {
      label: 'Key',
      value: ({ id }) => (
        <button type="button" class="link mono" onClick={() => setOpen({ key: id })}>
          {id}
        </button>
      ),
    },
    { label: 'Document', value: ({ doc }) => <span class="mono">{preview(doc)}</span> },
  ];
  return (
    <Page
      title="Documents"
      actions={
        <Button kind="main" onClick={() => setOpen({ key: null })}>
          Create document
        </Button>
      }
    >
      <Place names={names} path={path} />
      <Find
        prefix={prefix}
        onPrefix={(text) => {
          setStarts([text]);
          go(['documents', path.bucket, path.scope, path.collection], text ? { prefix: text } : {});
        }}
        onKey={(key) => setOpen({ key })}
      />
      <Loaded from={rows}>
        {({ rows: shown }) => (
          <>
            <Table
              caption="Documents"
              columns={columns}
              rows={shown.slice(0, pageRows)}
              rowKey={({ id }) => id}
              empty={
                prefix
                  ? 'No key begins with this text.'
                  : 'The collection has no documents. Create the first one.'
              }
            />
            <div class="row pages">
              <Button disabled={starts.length === 1} onClick={() => setStarts(starts.slice(0, -1))}>
                Previous
              </Button>
              <Button
                disabled={shown.length <= pageRows}
                onClick={() => setStarts([...starts, shown[pageRows]?.id ?? start])}
              >
                Next
              </Button>
            </div>
          </>
        )}
      </Loaded>
      {open && (
        <DocumentDialog
          path={path}
          documentKey={open.key}
          onClose={(isChanged) => {
            setOpen(undefined);
            if (isChanged) rows.reload();
          }}
        />
      )}
    </Page>
  );
}

/** One more than is shown, whose key begins the next page. */
const pageQuery = (start: string, prefix: string) => ({
  limit: pageRows + 1,
  include_docs: true,
  ...(start && { startkey: JSON.stringify(start) }),
  // The last code point, so that it follows every key with the prefix.
  ...(prefix && { endkey: JSON.stringify(`${prefix}\u{10ffff}`) }),
});

const previewChars = 120;

function preview(doc: Row['doc']): string {
  if (doc?.json === undefined) return doc?.base64 === undefined ? '' : 'binary';
  return doc.json.length > previewChars ? `${doc.json.slice(0, previewChars)}…` : doc.json;
}

function Place({ names, path }: { names: readonly string[]; path: CollectionPath }) {
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

interface FindProps {
  readonly prefix: string;
  readonly onPrefix: (prefix: string) => void;
  readonly onKey: (key: string) => void;
}

function Find({ prefix, onPrefix, onKey }: FindProps) {
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
      <div class="row field">
        <Button submit>Filter by beginning</Button>
        <Button disabled={text === ''} onClick={() => onKey(text)}>
          Open this key
        </Button>
      </div>
    </form>
  );
}

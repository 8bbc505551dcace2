// The documents of a collection by key, as far as the list was scrolled.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/client.ts';
import { count } from '../kit/format.ts';
import { Problem } from '../kit/notices.tsx';
import type { Column } from '../kit/table.tsx';
import { asApiError, signedInAgain } from '../kit/use-resource.ts';
import { VirtualTable } from '../kit/virtual-table.tsx';
import { type CollectionPath, type DocumentRow, documentsFrom } from './document-pages.ts';

interface DocumentListProps {
  readonly path: CollectionPath;
  readonly prefix: string;
  /** The list is read again when this number changes. */
  readonly changes: number;
  readonly onOpen: (key: string) => void;
}

interface DocumentLine {
  readonly id: string;
  readonly preview: string;
}

/** The rows that were read; `next` is the first key that was not read yet. */
interface LoadedRows {
  readonly rows: readonly DocumentLine[];
  readonly next: string | null;
}

/** The most rows that are listed: further keys are found by a filter. */
const rowsMax = 200_000;

export function DocumentList({ path, prefix, changes, onOpen }: DocumentListProps) {
  const [loaded, setLoaded] = useState<LoadedRows>();
  const [problem, setProblem] = useState<ApiError>();
  const loading = useRef<AbortController | null>(null);
  const load = async (before: LoadedRows | undefined) => {
    loading.current?.abort();
    const abort = new AbortController();
    loading.current = abort;
    try {
      const start = before ? (before.next as string) : prefix;
      const { rows, next } = await documentsFrom(path, start, prefix, abort.signal);
      if (abort.signal.aborted) return;
      setLoaded({ rows: [...(before?.rows ?? []), ...rows.map(lineOf)], next });
      setProblem(undefined);
    } catch (error) {
      if (!abort.signal.aborted) setProblem(asApiError(error));
    } finally {
      if (loading.current === abort) loading.current = null;
    }
  };
  useEffect(() => {
    const again = () => void load(undefined);
    setLoaded(undefined);
    again();
    addEventListener(signedInAgain, again);
    return () => {
      removeEventListener(signedInAgain, again);
      loading.current?.abort();
    };
  }, [prefix]);
  useEffect(() => {
    if (changes > 0) void load(undefined);
  }, [changes]);
  if (!loaded) return problem ? <Problem problem={problem} /> : <p class="quiet">Loading…</p>;
  if (loaded.rows.length === 0)
    return (
      <p class="empty">
        {prefix
          ? 'No key begins with this text.'
          : 'The collection has no documents. Create the first one, or import some.'}
      </p>
    );
  const hasMore = loaded.next !== null && loaded.rows.length < rowsMax;
  return (
    <>
      <Problem problem={problem} />
      <VirtualTable
        caption="Documents"
        columns={columns(onOpen)}
        rows={loaded.rows}
        rowKey={({ id }) => id}
        hasMore={hasMore}
        onEnd={() => {
          if (!loading.current) void load(loaded);
        }}
      />
      <p class="quiet">
        {count(loaded.rows.length)} documents
        {loaded.next !== null && (hasMore ? ', and more' : ', the first of more: filter them')}
      </p>
    </>
  );
}

const columns = (onOpen: (key: string) => void): readonly Column<DocumentLine>[] => [
  {
    label: 'Key',
    value: ({ id }) => (
      <button type="button" class="link mono" title={id} onClick={() => onOpen(id)}>
        {id}
      </button>
    ),
  },
  { label: 'Document', value: ({ preview }) => <span class="mono line">{preview}</span> },
];

const previewChars = 200;

function lineOf({ id, doc }: DocumentRow): DocumentLine {
  if (doc?.json === undefined) return { id, preview: doc?.base64 === undefined ? '' : 'binary' };
  // A copy: a part of a text would keep the whole document in memory.
  return { id, preview: Array.from(doc.json.slice(0, previewChars)).join('') };
}

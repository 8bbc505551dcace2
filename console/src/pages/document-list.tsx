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
  /** The list is read again when it changes. */
  readonly changes: number;
  readonly onOpen: (key: string) => void;
}

interface Shown {
  readonly id: string;
  readonly preview: string;
}

/** What is known of the list; `next` is the first key of the part that is not read yet. */
interface Known {
  readonly rows: readonly Shown[];
  readonly next: string | null;
}

/** More keys are found by their beginning. */
const rowsMax = 200_000;

export function DocumentList({ path, prefix, changes, onOpen }: DocumentListProps) {
  const [known, setKnown] = useState<Known>();
  const [problem, setProblem] = useState<ApiError>();
  const loading = useRef<AbortController | null>(null);
  const load = async (before: Known | undefined) => {
    loading.current?.abort();
    const abort = new AbortController();
    loading.current = abort;
    try {
      const start = before ? (before.next as string) : prefix;
      const { rows, next } = await documentsFrom(path, start, prefix, abort.signal);
      if (abort.signal.aborted) return;
      setKnown({ rows: [...(before?.rows ?? []), ...rows.map(shownOf)], next });
      setProblem(undefined);
    } catch (error) {
      if (!abort.signal.aborted) setProblem(asApiError(error));
    } finally {
      if (loading.current === abort) loading.current = null;
    }
  };
  useEffect(() => {
    const again = () => void load(undefined);
    setKnown(undefined);
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
  if (!known) return problem ? <Problem problem={problem} /> : <p class="quiet">Loading…</p>;
  if (known.rows.length === 0)
    return (
      <p class="empty">
        {prefix
          ? 'No key begins with this text.'
          : 'The collection has no documents. Create the first one, or import some.'}
      </p>
    );
  const hasMore = known.next !== null && known.rows.length < rowsMax;
  return (
    <>
      <Problem problem={problem} />
      <VirtualTable
        caption="Documents"
        columns={columns(onOpen)}
        rows={known.rows}
        rowKey={({ id }) => id}
        hasMore={hasMore}
        onEnd={() => {
          if (!loading.current) void load(known);
        }}
      />
      <p class="quiet">
        {count(known.rows.length)} documents
        {known.next !== null && (hasMore ? ', and more' : ' of more: filter them')}
      </p>
    </>
  );
}

const columns = (onOpen: (key: string) => void): readonly Column<Shown>[] => [
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

function shownOf({ id, doc }: DocumentRow): Shown {
  if (doc?.json === undefined) return { id, preview: doc?.base64 === undefined ? '' : 'binary' };
  // A copy: a part of a text would keep the whole document in memory.
  return { id, preview: Array.from(doc.json.slice(0, previewChars)).join('') };
}

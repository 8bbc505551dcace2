// Reads the documents of a collection in the order of their keys, some at a time.
import { ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { StoredDocument } from '../api/types.ts';

export interface CollectionPath {
  readonly bucket: string;
  readonly scope: string;
  readonly collection: string;
}

export interface DocumentRow {
  readonly id: string;
  readonly doc?: { readonly json?: string; readonly base64?: string };
}

export interface DocumentPage {
  readonly rows: readonly DocumentRow[];
  /** The first key of the next page; null after the last document. */
  readonly next: string | null;
}

const rowsMax = 500;
/** The limit is divided by this number after a refusal. */
const limitDivisor = 4;

/** Reads up to `rowsMax` documents with the prefix from the key `start` on; fewer where these are too large for one answer. */
export async function documentsFrom(
  path: CollectionPath,
  start: string,
  prefix: string,
  signal: AbortSignal,
): Promise<DocumentPage> {
  for (let limit = rowsMax; ; limit = Math.ceil(limit / limitDivisor)) {
    try {
      // One row more than is returned: the next page begins with its key.
      const query = { ...rangeOf(start, prefix), include_docs: true, limit: limit + 1 };
      const rows = await rowsOf(path, query, signal);
      return { rows: rows.slice(0, limit), next: rows[limit]?.id ?? null };
    } catch (error) {
      // Thus the node refuses a page that would be too large.
      const isTooMuch = error instanceof ApiError && error.status === 400 && error.message.includes('limit:');
      if (!isTooMuch) throw error;
      if (limit === 1) return await oneDocument(path, rangeOf(start, prefix), signal);
    }
  }
}

type Query = Readonly<Record<string, string | number | boolean>>;

async function rowsOf(path: CollectionPath, query: Query, signal: AbortSignal): Promise<DocumentRow[]> {
  const { rows } = await call<{ rows: DocumentRow[] }>(routes.documents, {
    path: { ...path },
    query,
    signal,
  });
  return rows;
}

/** A page of the first document of the range, for two documents that together are too large for one answer. */
async function oneDocument(path: CollectionPath, range: Query, signal: AbortSignal): Promise<DocumentPage> {
  const [first, second] = await rowsOf(path, { ...range, limit: 2 }, signal);
  const next = second?.id ?? null;
  if (first === undefined) return { rows: [], next };
  try {
    const document = { ...path, document: first.id };
    const doc = await call<StoredDocument>(routes.document, { path: document, signal });
    return { rows: [{ id: first.id, doc }], next };
  } catch (error) {
    // Deleted meanwhile.
    if (error instanceof ApiError && error.status === 404) return { rows: [], next };
    throw error;
  }
}

const rangeOf = (start: string, prefix: string) => ({
  ...(start && { startkey: JSON.stringify(start) }),
  // The last code point, so that it follows every key with the prefix.
  ...(prefix && { endkey: JSON.stringify(`${prefix}\u{10ffff}`) }),
});

// Reads the documents of a collection in the order of their keys, some at a time.
import { ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';

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
  /** The first key of the next page; null behind the last document. */
  readonly next: string | null;
}

const rowsMax = 500;

/** Reads up to 500 documents from the key `start` on; fewer where they are too large for one answer. */
export async function documentsFrom(
  path: CollectionPath,
  start: string,
  prefix: string,
  signal: AbortSignal,
): Promise<DocumentPage> {
  for (let limit = rowsMax; ; limit = Math.ceil(limit / 4)) {
    try {
      // One more than is returned: its key begins the next page.
      const query = { ...rangeOf(start, prefix), include_docs: true, limit: limit + 1 };
      const { rows } = await call<{ rows: DocumentRow[] }>(routes.documents, {
        path: { ...path },
        query,
        signal,
      });
      return { rows: rows.slice(0, limit), next: rows[limit]?.id ?? null };
    } catch (error) {
      const isTooMuch = error instanceof ApiError && error.status === 400 && error.message.includes('limit:');
      if (!isTooMuch || limit === 1) throw error;
    }
  }
}

const rangeOf = (start: string, prefix: string) => ({
  ...(start && { startkey: JSON.stringify(start) }),
  // The last code point, so that it follows every key with the prefix.
  ...(prefix && { endkey: JSON.stringify(`${prefix}\u{10ffff}`) }),
});

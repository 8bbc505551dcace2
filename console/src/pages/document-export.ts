// Exports the documents of a collection as JSON lines, each with its key in a field.
import { exactObject } from '../../../src/base/exact-json.ts';
import { ApiError } from '../api/client.ts';
import { type CollectionPath, type DocumentRow, documentsFrom } from './document-pages.ts';

export interface ExportState {
  readonly written: number;
  /** Documents that are not JSON objects, and so have no place for the key. */
  readonly leftOut: number;
  readonly bytes: number;
}

/** The browser keeps the file until it is saved. */
const bytesMax = 512 << 20;

/** Resolves with the file. */
export async function exportLines(
  path: CollectionPath,
  prefix: string,
  keyField: string,
  signal: AbortSignal,
  onState: (state: ExportState) => void,
): Promise<Blob> {
  const pages: Blob[] = [];
  let written = 0;
  let leftOut = 0;
  let bytes = 0;
  for (let start: string | null = prefix; start !== null; ) {
    const page = await documentsFrom(path, start, prefix, signal);
    const lines = page.rows.flatMap((row) => lineOf(row, keyField) ?? []);
    const pageFile = new Blob(lines);
    pages.push(pageFile);
    written += lines.length;
    leftOut += page.rows.length - lines.length;
    bytes += pageFile.size;
    onState({ written, leftOut, bytes });
    if (bytes > bytesMax)
      throw new ApiError(
        0,
        `The file is larger than ${bytesMax >> 20} MiB: use “divan export”, which has no limit.`,
      );
    start = page.next;
  }
  return new Blob(pages, { type: 'application/jsonl' });
}

/** Null: the document cannot have a key inside. */
function lineOf({ id, doc }: DocumentRow, keyField: string): string | null {
  const object = doc?.json === undefined ? null : exactObject(doc.json);
  if (object === null) return null;
  return `${JSON.stringify({ [keyField]: id, ...withoutField(object, keyField) })}\n`;
}

function withoutField(object: Readonly<Record<string, unknown>>, field: string): object {
  const { [field]: _, ...others } = object;
  return others;
}

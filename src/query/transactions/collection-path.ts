// Parses the path of a collection: `atrcollection`, which names the one for records, or the keyspace of `EXECUTE __get` and similar.
import type { RecordLocation } from './transaction.ts';

const part = /\s*(?:`((?:[^`]|``)+)`|([^.`\s]+))\s*(\.|$)/y;

/** null: the text is no path `bucket` or `bucket.scope.collection`. Callers refuse it with the error of their parameter. */
export function parseCollectionPath(text: string): RecordLocation | null {
  const parts = partsOf(text.replace(/^\s*(?:default|`default`):/, ''));
  const [bucket = '', scope = '_default', collection = '_default'] = parts;
  if (parts.length !== 1 && parts.length !== 3) return null;
  return { bucket, scope, collection, id: null };
}

function partsOf(text: string): string[] {
  const parts: string[] = [];
  part.lastIndex = 0;
  for (;;) {
    const at = part.lastIndex;
    const found = part.exec(text);
    if (found === null || found.index !== at) return [];
    parts.push(found[1]?.replaceAll('``', '`') ?? (found[2] as string));
    if (found[3] === '') return parts;
  }
}

// Parses `query_context`: the bucket and scope of unqualified names.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { QueryContext } from './query-request.ts';

const name = /(?:`((?:[^`]|``)+)`|([^`.:]+))/y;

/** The only namespace, which may be omitted or be in backticks, as the Java SDK sends it. */
const namespace = /^(?:(?:default|`default`)?:)?/;

/** The last context with its text: a client sends the same one with each statement. */
let last: { readonly text: string; readonly context: QueryContext | null } = { text: '', context: null };

/** null for an empty context and for `default:`, which name no bucket. */
export function parseQueryContext(text: string): QueryContext | null {
  if (text !== last.text) last = { text, context: contextOf(text) };
  return last.context;
}

function contextOf(text: string): QueryContext | null {
  const path = text.trim().replace(namespace, '');
  if (path === '') return null;
  const parts = namesOf(path);
  if (parts?.length !== 2) throw sqlError(10201, text);
  const [bucket, scope] = parts as [string, string];
  return { bucket, scope };
}

function namesOf(text: string): string[] | null {
  const names: string[] = [];
  let at = 0;
  for (;;) {
    name.lastIndex = at;
    const found = name.exec(text);
    if (found === null) return null;
    names.push(found[1]?.replaceAll('``', '`') ?? (found[2] as string).trim());
    at = name.lastIndex;
    if (at === text.length) return names;
    if (text[at++] !== '.') return null;
  }
}

// JSON text as the query engine keeps it, and its values for comparisons in tests.
import { resolve } from '../../src/sqlpp/values/json-parse.ts';
import { Binary, RawJson, type Value } from '../../src/sqlpp/values/value.ts';

export function rawOf(text: string): RawJson {
  const bytes = new TextEncoder().encode(`  ${text} `);
  return new RawJson(bytes, 2, bytes.length - 1);
}

/** The representation of JSON.parse, for deepEqual. */
export function plain(value: Value): unknown {
  if (value instanceof RawJson) return plain(resolve(value));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null && !(value instanceof Binary)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
  }
  return typeof value === 'bigint' ? Number(value) : value;
}

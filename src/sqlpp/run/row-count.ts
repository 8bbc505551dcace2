// The value of a LIMIT or OFFSET.
import { sqlError } from '../errors/sql-error.ts';
import { jsonText } from '../values/json-text.ts';
import type { Value } from '../values/value.ts';

/** The whole number; negative ones count as zero. @throws SqlError 5030 for other values */
export function rowCountOf(value: Value, clause: 'LIMIT' | 'OFFSET'): number {
  if (typeof value === 'number' && Number.isInteger(value)) return Math.max(0, value);
  if (typeof value === 'bigint') return value > 0n ? Number.MAX_SAFE_INTEGER : 0;
  throw sqlError(5030, `Invalid ${clause} value ${value === undefined ? 'missing' : jsonText(value)}.`);
}

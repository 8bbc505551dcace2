// A row with the values by which ORDER BY sorts.
import type { Value } from '../values/value.ts';
import type { Row } from './row.ts';
import { sizeOf, sizeOfRow } from './size.ts';

export interface SortedRow {
  readonly keys: readonly Value[];
  readonly row: Row;
}

export type CompareRows = (a: SortedRow, b: SortedRow) => number;

/** Memory of the objects that hold a row and its keys, without their values. */
const objectBytes = 100;

export function sortedRowBytes({ keys, row }: SortedRow): number {
  let bytes = objectBytes + sizeOfRow(row);
  for (const key of keys) bytes += sizeOf(key);
  return bytes;
}

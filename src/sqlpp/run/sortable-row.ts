// What ORDER BY sorts: rows, each with the values by which it is compared.
import type { Value } from '../values/value.ts';
import type { Row } from './row.ts';
import { sizeOf, sizeOfRow } from './size.ts';

export interface SortableRow {
  /** The values of the terms of ORDER BY. */
  readonly keys: readonly Value[];
  readonly row: Row;
}

export type CompareRows = (a: SortableRow, b: SortableRow) => number;

/** The memory of the objects that hold a row and its keys, without the values in them. */
const objectBytes = 100;

export function sortableRowBytes({ keys, row }: SortableRow): number {
  let bytes = objectBytes + sizeOfRow(row);
  for (const key of keys) bytes += sizeOf(key);
  return bytes;
}

// A row with its sort values.
import type { Value } from '../values/value.ts';
import type { Row } from './row.ts';

export interface SortedRow {
  readonly keys: readonly Value[];
  readonly row: Row;
}

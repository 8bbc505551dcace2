// Rows of a query block: a value for each slot. Rows belong to the operator that receives them.
import type { Block } from '../plan/block.ts';
import type { Value } from '../values/value.ts';

export type Row = Value[];

export type Batch = Row[];

/** The most rows of a batch. */
export const batchRows = 256;

/** A row whose slots have no values. */
export function emptyRow(size: number): Row {
  // Not `fill`: V8 takes twice as long for it.
  const row: Row = [];
  for (let left = size; left > 0; left--) row.push(undefined);
  return row;
}

/** The first row of a block: its captured values. */
export function firstRow(block: Block, values: readonly Value[]): Row {
  const row = emptyRow(block.size);
  block.captures.forEach((capture, at) => {
    row[capture.slot] = values[at];
  });
  return row;
}

/** Collects rows into batches. */
export class Batcher {
  #rows: Batch = [];

  /** Returns the batch when this row fills it. */
  add(row: Row): Batch | undefined {
    this.#rows.push(row);
    if (this.#rows.length < batchRows) return undefined;
    return this.drain();
  }

  /** The rows since the last batch. */
  drain(): Batch {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  get size(): number {
    return this.#rows.length;
  }
}

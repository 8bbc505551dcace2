// A compiled statement, and the changes of documents that it computes.
import type { DocumentWrite } from '../datastore/documents.ts';
import type { Value } from '../values/value.ts';
import type { Row } from './row.ts';
import type { Run } from './run.ts';

/** Runs the statement and returns its rows in batches. */
export type Statement = (run: Run) => AsyncIterable<readonly Value[]>;

/** A change whose document is not encoded yet. */
export interface RowChange extends Omit<RowWrite, 'write'> {
  readonly write: Omit<DocumentWrite, 'bytes'>;
}

/** One document to write, with the row it comes from and the body that RETURNING shows. */
export interface RowWrite {
  readonly row: Row;
  readonly write: DocumentWrite;
  readonly value: Value;
}

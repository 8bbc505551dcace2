// The advice for one keyspace of a statement.
import type { Keyspace } from '../datastore/keyspace.ts';
import type { KeyUse } from './key-use.ts';

/** An index that would serve the statement. */
export interface AdvisedIndex {
  readonly keys: readonly KeyUse[];
  /** The uses whose `flavor` is the condition of a partial index. */
  readonly flavors: readonly KeyUse[];
  /** The index includes documents whose first key is MISSING. */
  readonly includesMissing: boolean;
  /** Why the keys have this order, as shown to the user. */
  readonly rule: string;
  /** Operations that the index does instead of the query (`LIMIT pushdown`), as shown to the user. */
  readonly property: string | undefined;
}

export interface Advice {
  readonly keyspace: Keyspace;
  readonly alias: string;
  /** The statement names the alias. */
  readonly isExplicit: boolean;
  /** Indexes that find document keys; the statement then reads the documents. */
  readonly plain: readonly AdvisedIndex[];
  /** An index with all that the statement reads of the keyspace. */
  readonly covering: AdvisedIndex | undefined;
  /** Only the condition of a join uses the index: ADVISE lists it after the others. */
  readonly isDerived: boolean;
}

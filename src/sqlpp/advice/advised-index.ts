// The advice for one keyspace of a statement.
import type { Keyspace } from '../datastore/keyspace.ts';
import type { KeyUse } from './key-use.ts';

/** An index that would help. */
export interface AdvisedIndex {
  readonly keys: readonly KeyUse[];
  readonly flavors: readonly KeyUse[];
  /** The index includes documents whose first key is MISSING. */
  readonly includesMissing: boolean;
  readonly rule: string;
  readonly property: string | undefined;
}

export interface Advice {
  readonly keyspace: Keyspace;
  readonly alias: string;
  readonly isExplicit: boolean;
  readonly plain: readonly AdvisedIndex[];
  readonly covering: AdvisedIndex | undefined;
  /** Only the condition of a join uses the index: it is listed after the others. */
  readonly isDerived: boolean;
}

// What advice says of one keyspace of a statement.
import type { Keyspace } from '../datastore/keyspace.ts';
import type { KeyUse } from './key-use.ts';

/** One index that would help. */
export interface AdvisedIndex {
  readonly keys: readonly KeyUse[];
  readonly flavors: readonly KeyUse[];
  /** The first key is of entries without it too. */
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
  /** Only a join's condition asks for it: listed after the others. */
  readonly isDerived: boolean;
}

// A sample bucket: which collections, documents and indexes it gets.
import type { IndexKey } from '#index/index.contract.ts';

export interface SampleBucket {
  /** The name of the sample and of its bucket. */
  readonly name: string;
  /** Makes the same documents at each call. */
  collections(): readonly SampleCollection[];
}

export interface SampleCollection {
  readonly scope: string;
  readonly name: string;
  readonly documents: readonly SampleDocument[];
  readonly indexes: readonly SampleIndex[];
}

export interface SampleDocument {
  readonly key: string;
  readonly value: object;
}

export interface SampleIndex {
  readonly name: string;
  readonly isPrimary: boolean;
  /** In the canonical form of index definitions. */
  readonly keys: readonly Pick<IndexKey, 'expression' | 'array'>[];
  /** The condition of WHERE, in canonical form. */
  readonly condition?: string;
}

// What the planner asks of its surroundings.
import type { IndexDefinition, IndexStatus } from '../datastore/indexes.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import type { Expression } from '../tree/query.ts';

export interface Planning {
  indexesOf(keyspace: Keyspace): readonly IndexStatus[];
  /** An index key's or condition's text as a tree; parsed once. */
  parse(text: string): Expression;
  readonly sequentialScans: boolean;
  /** Value of an expression that reads no row, where it is known by now. */
  constantOf(expression: Expression): { readonly value: unknown } | undefined;
  /** Collation order of two values. */
  compare(a: unknown, b: unknown): number;
  /** Indexes that the plan scans. */
  readonly used: Map<string, IndexDefinition>;
  readonly text: string;
}

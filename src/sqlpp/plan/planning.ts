// The planner's dependencies.
import type { IndexDefinition, IndexStatus } from '../datastore/indexes.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import type { CollectionStatistics } from '../datastore/statistics.ts';
import type { Expression } from '../tree/expression.ts';

export interface PlanningContext {
  indexesOf(keyspace: Keyspace): readonly IndexStatus[];
  /** Undefined: none were gathered, or the request does not use them. */
  statisticsOf(keyspace: Keyspace): CollectionStatistics | undefined;
  /** Parses the text of an index key or condition; results are cached. */
  parse(text: string): Expression;
  /** Keyspaces without a primary index may be read whole, too. */
  readonly sequentialScans: boolean;
  /** The value of an expression that reads no row; undefined if it is not known before the statement runs. */
  constantOf(expression: Expression): { readonly value: unknown } | undefined;
  /** Collation order of two values. */
  compare(a: unknown, b: unknown): number;
  /** By id: the indexes that the plan scans, which the planner adds. */
  readonly used: Map<string, IndexDefinition>;
  /** The statement. */
  readonly text: string;
}

// What evaluating an expression needs beside the row. All of it is synchronous: an expression never waits.
import type { Call, FunctionName, Subquery } from '../tree/query.ts';
import type { Value } from '../values/value.ts';

export interface EvaluationContext {
  readonly positional: readonly Value[];
  /** Names without `$`. */
  readonly named: ReadonlyMap<string, Value>;
  /** Milliseconds since 1970 when the request came: NOW_… answer it. */
  readonly startedMs: number;
  /** Milliseconds since 1970 now: CLOCK_… answer it. */
  clockMs(): number;
  /** From 0 to below 1. */
  random(): number;
  uuid(): string;
  /** The IANA name of the zone that texts without one are in, and that …_LOCAL answers. */
  readonly timeZone: string;
  /**
   * The rows of a subquery as an array. `values` are those of its correlation. May throw to suspend: the operator runs the subquery
   * and evaluates the row again.
   */
  subquery(node: Subquery, values: readonly Value[]): Value;
  /** A function that a user defined; may throw to suspend. */
  userCall(name: FunctionName, values: readonly Value[]): Value;
  /** Functions that need more than values: ADVISOR, INFER_VALUE, CURL, VERSION, CURRENT_USERS, NODE_NAME and the like. */
  special(call: Call, values: readonly Value[]): Value;
}

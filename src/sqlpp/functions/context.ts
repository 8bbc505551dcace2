// The context of evaluating an expression, in addition to the row. It is synchronous: an expression never waits.
import type { Call, Subquery, UserCall } from '../tree/expression.ts';
import type { Value } from '../values/value.ts';

export interface EvaluationContext {
  readonly positional: readonly Value[];
  /** Names without `$`. */
  readonly named: ReadonlyMap<string, Value>;
  /** The time of the request in milliseconds since 1970, which NOW_… return. */
  readonly startedMs: number;
  /** The current time in milliseconds since 1970, which CLOCK_… return. */
  clockMs(): number;
  /** From 0 to below 1. */
  random(): number;
  uuid(): string;
  /** The IANA name of the zone of texts without one, and of …_LOCAL. */
  readonly timeZone: string;
  /**
   * The rows of a subquery as an array. `values` are those of its correlation. May throw to suspend: the operator runs the subquery
   * and evaluates the row again.
   */
  subquery(node: Subquery, values: readonly Value[]): Value;
  /**
   * Whether a loop evaluates its next elements although one threw this error, so that all subqueries that they need run together. The
   * loop throws the first error at its end.
   */
  continuesAfter?(error: unknown): boolean;
  /** Whether long work of an expression should pause: its caller evaluates the row again. */
  isPauseDue?(): boolean;
  /** Call when such work goes on after a pause. */
  resumed?(): void;
  /** Whether this evaluation of the row has got random values or times. */
  hasDrawn?(): boolean;
  /** Calls a user-defined function; may throw to suspend. */
  userCall(call: UserCall, values: readonly Value[]): Value;
  /** Calls functions that need the service: ADVISOR, INFER_VALUE, CURL, VERSION, CURRENT_USERS, NODE_NAME and others. */
  serviceCall(call: Call, values: readonly Value[]): Value;
}

// The engine's interface for the service. The engine is loaded with the first statement, so that an idle node needs no memory for it.
import type { WorkSteps } from '#base/steps.ts';
import type { ExecuteContext, Execution, PrepareContext, PreparedStatement } from '#sqlpp/run/engine.ts';
import type { Value } from '#sqlpp/values/value.ts';

export interface Engine {
  prepare(text: string, context: PrepareContext): PreparedStatement;
  /** Prepares a long statement in steps. */
  prepareSteps(text: string, context: PrepareContext): WorkSteps<PreparedStatement>;
  execute(prepared: PreparedStatement, context: ExecuteContext): Execution;
  /** The value as JSON text for answers. */
  textOf(value: Value): string;
  /** The JSON text of a value whose text takes long, in parts, some of which may be empty; null for other values. */
  partsOf(value: Value): Iterable<string> | null;
}

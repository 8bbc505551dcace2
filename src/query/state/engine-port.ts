// What the service needs of the engine. It is loaded with the first statement: an idle node does not pay for it.
import type { ExecuteContext, Execution, PrepareContext, Prepared } from '../../sqlpp/run/engine.ts';
import type { Value } from '../../sqlpp/values/value.ts';

export interface Engine {
  prepare(text: string, context: PrepareContext): Prepared;
  execute(prepared: Prepared, context: ExecuteContext): Execution;
  /** As JSON text, in the form of answers. */
  textOf(value: Value): string;
}

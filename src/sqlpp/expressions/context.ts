// Defined in src/sqlpp/functions, which use it, too.
export type { EvaluationContext } from '../functions/context.ts';

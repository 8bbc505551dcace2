// src/sqlpp/functions defines the evaluation context, since functions use it, too.
export type { EvaluationContext } from '../functions/context.ts';

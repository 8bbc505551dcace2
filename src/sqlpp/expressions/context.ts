// Stands with the functions, which need it too.
export type { EvaluationContext } from '../functions/context.ts';

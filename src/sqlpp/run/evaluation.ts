// What expressions see of a request.
import type { EvaluationContext } from '../expressions/context.ts';
import type { Run } from './run.ts';

export function evaluationOf(run: Run): EvaluationContext {
  const { context } = run;
  return {
    positional: context.positional,
    named: context.named,
    startedMs: context.startedMs,
    clockMs: () => context.clockMs(),
    random: () => context.random(),
    uuid: () => context.uuid(),
    timeZone: context.timeZone ?? 'UTC',
    subquery: (node, values) => run.subquery(node, values),
    userCall: (name, values) => run.userCall(name, values),
    special: (call, values) => context.special?.(call.name, values) ?? null,
  };
}

// Runs a compiled statement: creates its Run, and adds measured phases to the outcome at its end.

import type { EvaluationContext } from '../functions/context.ts';
import type { Value } from '../values/value.ts';
import type { ExecuteContext, Execution } from './engine.ts';
import type { StatsOf } from './explaining.ts';
import { addPhases, type Meter } from './meter.ts';
import { type Batch, emptyRow } from './row.ts';
import { type Programs, Run, type SubqueryProgram } from './run.ts';
import type { Statement } from './statement.ts';
import { ended, nextStepOf, type Step, StepIterator } from './step-iterator.ts';

export interface CompiledStatement {
  readonly statement: Statement;
  readonly programs: Programs;
}

/** A plan as EXPLAIN shows it, with the time and rows of its operators if they were measured. */
export type ExplainPlan = (statsOf?: StatsOf) => Value;

export function execute(
  { statement, programs }: CompiledStatement,
  context: ExecuteContext,
  { plan, explain }: { readonly plan: object; readonly explain: ExplainPlan },
): Execution {
  const run = new Run(context, programs, evaluationOf);
  const { meter } = run;
  return {
    rows: meter ? meteredRows(run, meter, meter.rows(plan, statement(run))) : statement(run),
    outcome: run.outcome,
    timings: () => (meter ? explain((operator) => meter.statsOf(operator)) : null),
  };
}

async function* meteredRows(
  run: Run,
  meter: Meter,
  batches: AsyncIterable<readonly Value[]>,
): AsyncGenerator<readonly Value[]> {
  try {
    yield* batches;
  } finally {
    addPhases(run.outcome, meter);
  }
}

/** A SELECT as a statement. */
export function selectStatement({ block, pull, resultSlot }: SubqueryProgram): Statement {
  return (run) => new ResultRows(pull(run, emptyRow(block.size)), resultSlot);
}

/** The results in the rows of a SELECT. */
class ResultRows extends StepIterator<readonly Value[]> {
  readonly #batches: AsyncIterator<Batch>;
  readonly #slot: number;

  constructor(batches: AsyncIterable<Batch>, slot: number) {
    super();
    this.#batches = batches[Symbol.asyncIterator]();
    this.#slot = slot;
  }

  step(): Step<readonly Value[]> | Promise<Step<readonly Value[]>> {
    const next = nextStepOf(this.#batches);
    return next instanceof Promise ? next.then(this.#resultsOf) : this.#resultsOf(next);
  }

  async return(): Promise<Step<readonly Value[]>> {
    await this.#batches.return?.();
    return ended;
  }

  readonly #resultsOf = (next: IteratorResult<Batch>): Step<readonly Value[]> =>
    next.done ? ended : { done: false, value: next.value.map((row) => row[this.#slot]) };
}

/** The evaluation context of a request's expressions. */
function evaluationOf(run: Run): EvaluationContext {
  const { context } = run;
  const clockMs = () => context.clockMs();
  const random = () => context.random();
  const uuid = () => context.uuid();
  return {
    positional: context.positional,
    named: context.named,
    startedMs: context.startedMs,
    clockMs: () => run.drawn('clock', clockMs),
    random: () => run.drawn('random', random),
    uuid: () => run.drawn('uuid', uuid),
    timeZone: context.timeZone ?? 'UTC',
    subquery: (node, values) => run.subquery(node, values),
    continuesAfter: (error) => run.continuesAfter(error),
    isPauseDue: () => run.isPauseDue(),
    resumed: () => run.slices.resumed(),
    hasDrawn: () => run.hasDrawn(),
    userCall: (call, values) => run.userCall(call, values),
    serviceCall: (call, values) => run.serviceCall(call.name, values),
  };
}

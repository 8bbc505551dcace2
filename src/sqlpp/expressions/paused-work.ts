// Work of expressions that takes long, such as a loop over a large array, pauses once the time slice of the statement is over: it throws `PauseNeeded`,
// and what it has done so far is kept. The operator lets other requests run and evaluates the row again; then the work goes on where it paused. "A work" is
// one such loop, or one call of a function in steps.
import type { WorkSteps } from '#base/steps.ts';
import type { EvaluationContext } from '../functions/context.ts';
import { countSteps, isClockDue, stepsLeft } from '../values/step-limit.ts';

/** Thrown by work that pauses. */
export class PauseNeeded {}

/** Work of one row that has paused, or that has ended after a pause. */
export interface PausedWork<State = unknown> {
  /** Identifies the expression. Another one at the same position shows that the row took another path. */
  readonly worker: object;
  /** How many works the row, or the round of the loop around this work, had begun, this one included. */
  readonly position: number;
  /** null: the work has ended. */
  readonly state: State | null;
  readonly result: unknown;
  /** The steps that were counted for what is done. Each evaluation of the row counts them again, so that pauses do not allow larger results. */
  readonly steps: number;
  /** The works that have begun within the unfinished part of this work. */
  readonly inner: PausedWorks;
}

export type PausedWorks = readonly PausedWork[];

export const noWorks: PausedWorks = [];

/** The works of the row, or of the round of a loop, that is evaluated. */
let works = noWorks;
/** How many works the row, or the round, has begun. */
let position = 0;
let mayPause = false;

/** What `allowPauses` replaces, for `restore`. */
export interface OuterEvaluation {
  readonly works: PausedWorks;
  readonly position: number;
  readonly mayPause: boolean;
}

/** Call before rows are evaluated whose caller can wait, and `restore` after them. */
export function allowPauses(): OuterEvaluation {
  const before = { works, position, mayPause };
  mayPause = true;
  return before;
}

export function restore(before: OuterEvaluation): void {
  ({ works, position, mayPause } = before);
}

/** Call before a row, or a round of a loop, is evaluated, with what it has done before a pause. */
export function begin(paused: PausedWorks): void {
  works = paused;
  position = 0;
}

/** What has been done of the row, or of a round, whose evaluation threw an error. */
export const rowWorks = (): PausedWorks => works;

/** Call when a work begins; returns its position. */
export const enter = (): number => ++position;

export function pausedAt<State>(own: number, worker: object): PausedWork<State> | undefined {
  if (works === noWorks) return undefined;
  return works.find((work) => work.position === own && work.worker === worker) as
    | PausedWork<State>
    | undefined;
}

export const isPauseDue = (context: EvaluationContext): boolean =>
  mayPause && isClockDue() && context.isPauseDue?.() === true;

/** Keeps the state of a work that does not end now. `around`: the works beside it. */
export function keep(around: PausedWorks, work: Omit<PausedWork, 'result'>): void {
  works = [...without(around, work.position), { ...work, result: undefined }];
}

/** Call when a work throws that will begin again. `around`: the works beside it. */
export function drop(around: PausedWorks, own: number): void {
  works = without(around, own);
}

const without = (all: PausedWorks, own: number): PausedWorks => {
  const others = all.filter(({ position }) => position !== own);
  return others.length === 0 ? noWorks : others;
};

/**
 * Call when a work has ended. Its result is kept if it has paused: the row may be evaluated again for other reasons. It is not kept after random
 * values: without the work, the expressions after it would get the random values that the work had got.
 */
export function leave(
  around: PausedWorks,
  context: EvaluationContext,
  paused: PausedWork | undefined,
  ended: { readonly position: number; readonly result: unknown; readonly steps: number },
): void {
  works = around;
  position = ended.position;
  if (paused === undefined) return;
  works = without(around, ended.position);
  if (context.hasDrawn?.() === true) return;
  works = [...works, { ...ended, worker: paused.worker, state: null, inner: noWorks }];
}

/** Runs the steps, with pauses. They may evaluate expressions, which do not pause themselves. */
export function inSteps<T>(worker: object, context: EvaluationContext, steps: () => WorkSteps<T>): T {
  const own = enter();
  const around = works;
  const paused = pausedAt<WorkSteps<T>>(own, worker);
  const left = stepsLeft();
  if (paused !== undefined) countSteps(paused.steps);
  if (paused?.state === null) return paused.result as T;
  if (paused !== undefined) context.resumed?.();
  const state = paused?.state ?? steps();
  for (;;) {
    const step = oneStep(state, around, own);
    if (step.done === true) {
      leave(around, context, paused, { position: own, result: step.value, steps: left - stepsLeft() });
      return step.value;
    }
    if (mayPause && context.isPauseDue?.() === true) {
      keep(around, { worker, position: own, state, steps: left - stepsLeft(), inner: noWorks });
      throw new PauseNeeded();
    }
  }
}

function oneStep<T>(steps: WorkSteps<T>, around: PausedWorks, own: number): IteratorResult<undefined, T> {
  const before = allowPauses();
  mayPause = false;
  let hasThrown = true;
  try {
    const step = steps.next();
    hasThrown = false;
    return step;
  } finally {
    restore(before);
    // A generator that has thrown is over: where a step needs the result of a subquery, all of them run again with it.
    if (hasThrown) drop(around, own);
  }
}

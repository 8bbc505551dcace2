// Work of expressions that takes long, as loops over large arrays, pauses once the time slice of the statement is over: it throws `PauseNeeded`, and
// what it has done so far is kept. The operator lets other requests run and evaluates the row again, in which the work goes on where it paused.
import type { WorkSteps } from '#base/steps.ts';
import type { EvaluationContext } from '../functions/context.ts';
import { areStepsMany } from '../values/step-limit.ts';

/** Thrown by work that pauses. */
export class PauseNeeded {}

/** Work of one row that has paused, or that has ended after a pause. */
export interface PausedWork<State = unknown> {
  /** The code that works: finds out whether the row took another path. */
  readonly worker: object;
  /** How many works the row, or the round of a loop around this work, had begun. */
  readonly position: number;
  /** null: the work has ended. */
  readonly state: State | null;
  readonly result: unknown;
  /** The works within the part of this work that is not done. */
  readonly inner: PausedWorks;
}

export type PausedWorks = readonly PausedWork[];

export const noWorks: PausedWorks = [];

/** The works of the row, or of the round of a loop, that is evaluated. */
let works = noWorks;
/** How many works it has begun. */
let position = 0;
let mayPause = false;

export interface Evaluated {
  readonly works: PausedWorks;
  readonly position: number;
  readonly mayPause: boolean;
}

/** Call before rows are evaluated whose caller can wait, and `restore` after them. */
export function allowPauses(): Evaluated {
  const before = { works, position, mayPause };
  mayPause = true;
  return before;
}

export function restore(before: Evaluated): void {
  ({ works, position, mayPause } = before);
}

/** Call before a row, or a round of a loop, is evaluated, with what it has done before a pause. */
export function begin(paused: PausedWorks): void {
  works = paused;
  position = 0;
}

/** What has been done of the row, or of a round, whose evaluation threw an error. */
export const worksNow = (): PausedWorks => works;

/** Begins a work; returns its position. */
export const enter = (): number => ++position;

export function pausedAt<State>(own: number, worker: object): PausedWork<State> | undefined {
  if (works === noWorks) return undefined;
  return works.find((work) => work.position === own && work.worker === worker) as
    | PausedWork<State>
    | undefined;
}

export const isPauseDue = (context: EvaluationContext): boolean =>
  mayPause && areStepsMany() && context.isPauseDue?.() === true;

/** Keeps the state of a work that does not end now. `around`: the works beside it. */
export function keep(around: PausedWorks, work: Omit<PausedWork, 'result'>): void {
  works = [...around.filter((other) => other.position !== work.position), { ...work, result: undefined }];
}

/** Call when a work has ended. Its result is kept if it has paused: the row may be evaluated again for other reasons. */
export function leave(
  around: PausedWorks,
  own: number,
  paused: PausedWork | undefined,
  result: unknown,
): void {
  works = around;
  position = own;
  if (paused === undefined) return;
  const ended = { worker: paused.worker, position: own, state: null, result, inner: noWorks };
  works = [...around.filter((other) => other.position !== own), ended];
}

/** Runs the steps, with pauses. They may evaluate expressions, which do not pause themselves. */
export function inSteps<T>(worker: object, context: EvaluationContext, steps: () => WorkSteps<T>): T {
  const own = enter();
  const around = works;
  const paused = pausedAt<WorkSteps<T>>(own, worker);
  if (paused?.state === null) return paused.result as T;
  if (paused !== undefined) context.resumed?.();
  const state = paused?.state ?? steps();
  for (;;) {
    const step = oneStep(state);
    if (step.done === true) {
      leave(around, own, paused, step.value);
      return step.value;
    }
    if (mayPause && context.isPauseDue?.() === true) {
      keep(around, { worker, position: own, state, inner: noWorks });
      throw new PauseNeeded();
    }
  }
}

function oneStep<T>(steps: WorkSteps<T>): IteratorResult<undefined, T> {
  const before = allowPauses();
  mayPause = false;
  try {
    return steps.next();
  } finally {
    restore(before);
  }
}

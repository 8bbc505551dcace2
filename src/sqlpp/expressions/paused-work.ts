// Work of expressions that takes long, such as a loop over a large array, pauses once the time slice of the statement is over: it throws `PauseNeeded`,
// and what it has done so far is kept. The operator lets other requests run and evaluates the row again; then the work goes on where it paused. A task
// is one such loop, or one call of a function in steps.
import type { WorkSteps } from '#base/steps.ts';
import type { EvaluationContext } from '../functions/context.ts';
import { countSteps, isClockDue, stepsLeft } from '../values/step-limit.ts';

/** Thrown by work that pauses. */
export class PauseNeeded {}

/** A task of one row that has paused, or that has ended after a pause. */
export interface PausedTask<State = unknown> {
  /** Identifies the expression of the task. Another owner at the same position shows that the row took another path. */
  readonly owner: object;
  /** Which task of the row this is, counted from 1 in the order in which they begin; within a loop: which task of the round. */
  readonly position: number;
  /** null: the task has ended. */
  readonly state: State | null;
  readonly result: unknown;
  /** The steps that were counted for what is done. Each evaluation of the row counts them again, so that pauses do not allow larger results. */
  readonly steps: number;
  /** The tasks that have begun within the unfinished part of this task. */
  readonly inner: PausedTasks;
}

export type PausedTasks = readonly PausedTask[];

export const noTasks: PausedTasks = [];

/** The paused and ended tasks of the row, or of the round of a loop, that is evaluated. */
let tasks = noTasks;
/** How many tasks the row, or the round, has begun. */
let position = 0;
/** Whether the caller of the expression can wait. */
let mayPause = false;

/** The state before `allowPauses`, for `restore`. */
export interface OuterEvaluation {
  readonly tasks: PausedTasks;
  readonly position: number;
  readonly mayPause: boolean;
}

/** Call before rows are evaluated whose caller can wait, and `restore` after them. */
export function allowPauses(): OuterEvaluation {
  const before = { tasks, position, mayPause };
  mayPause = true;
  return before;
}

export function restore(before: OuterEvaluation): void {
  ({ tasks, position, mayPause } = before);
}

/** Call before a row, or a round of a loop, is evaluated, with what it has done before a pause. */
export function begin(paused: PausedTasks): void {
  tasks = paused;
  position = 0;
}

/** What has been done of the row, or of a round, whose evaluation threw an error. */
export const rowTasks = (): PausedTasks => tasks;

/** Call when a task begins; returns its position. */
export const enter = (): number => ++position;

/** The task of this owner that paused or ended at the position in an earlier evaluation of the row. */
export function pausedAt<State>(own: number, owner: object): PausedTask<State> | undefined {
  if (tasks === noTasks) return undefined;
  return tasks.find((task) => task.position === own && task.owner === owner) as PausedTask<State> | undefined;
}

export const isPauseDue = (context: EvaluationContext): boolean =>
  mayPause && isClockDue() && context.isPauseDue?.() === true;

/** Keeps the state of a task that does not end now. `around`: the tasks beside it. */
export function keep(around: PausedTasks, task: Omit<PausedTask, 'result'>): void {
  tasks = [...without(around, task.position), { ...task, result: undefined }];
}

/** Call when a task throws an error and will start over. `around`: the tasks beside it. */
export function drop(around: PausedTasks, own: number): void {
  tasks = without(around, own);
}

const without = (all: PausedTasks, own: number): PausedTasks => {
  const others = all.filter(({ position }) => position !== own);
  return others.length === 0 ? noTasks : others;
};

/**
 * Call when a task has ended. Its result is kept if it has paused: the row may be evaluated again for other reasons. It is not kept if the row has
 * got random values: each evaluation gets the same values in the same order, so that expressions after a skipped task would get the task's values.
 */
export function leave(
  around: PausedTasks,
  context: EvaluationContext,
  paused: PausedTask | undefined,
  ended: { readonly position: number; readonly result: unknown; readonly steps: number },
): void {
  tasks = around;
  position = ended.position;
  if (paused === undefined) return;
  tasks = without(around, ended.position);
  if (context.hasDrawn?.() === true) return;
  tasks = [...tasks, { ...ended, owner: paused.owner, state: null, inner: noTasks }];
}

/** Runs the steps, with pauses. They may evaluate expressions, which do not pause themselves. */
export function inSteps<T>(owner: object, context: EvaluationContext, steps: () => WorkSteps<T>): T {
  const own = enter();
  const around = tasks;
  const paused = pausedAt<WorkSteps<T>>(own, owner);
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
      keep(around, { owner, position: own, state, steps: left - stepsLeft(), inner: noTasks });
      throw new PauseNeeded();
    }
  }
}

function oneStep<T>(steps: WorkSteps<T>, around: PausedTasks, own: number): IteratorResult<undefined, T> {
  const before = allowPauses();
  mayPause = false;
  let hasThrown = true;
  try {
    const step = steps.next();
    hasThrown = false;
    return step;
  } finally {
    restore(before);
    // A generator that has thrown cannot continue: after an error, such as that a subquery must run first, all steps run again.
    if (hasThrown) drop(around, own);
  }
}

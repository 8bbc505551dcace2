// Loops of ANY, EVERY and comprehensions over ranges. Several bindings iterate in parallel, up to the end of the shortest. A long loop pauses.
import { itemsOfValue } from '../functions/array-star.ts';
import type { EvaluationContext } from '../functions/context.ts';
import type { RangeBinding } from '../tree/expression.ts';
import { countSteps, listedSteps, roundSteps, stepsLeft } from '../values/step-limit.ts';
import type { Value } from '../values/value.ts';
import type { Evaluate, ExpressionCompiler, Variable } from './evaluate.ts';
import { descendants, isComposite, sortedMembers } from './navigation.ts';
import {
  begin,
  drop,
  enter,
  isPauseDue,
  keep,
  leave,
  noTasks,
  type PausedTasks,
  PauseNeeded,
  pausedAt,
  rowTasks,
} from './paused-work.ts';

/** The values that a binding iterates over, and for a position variable the positions or names. */
export interface LoopRange {
  readonly values: readonly Value[];
  readonly positions: readonly Value[] | undefined;
}

/** What a loop does with each combination of elements. */
export interface Loop<Kept> {
  /** What the loop keeps between rounds. */
  begin(ranges: readonly LoopRange[]): Kept;
  /** Returns true to end the loop. Changes `kept` only when it has evaluated everything. */
  round(kept: Kept, row: readonly Value[], context: EvaluationContext): boolean;
  result(kept: Kept): Value;
}

interface CompiledRange {
  readonly of: Evaluate;
  /** WITHIN: includes nested values. */
  readonly isDeep: boolean;
  readonly value: Variable;
  readonly position: Variable | undefined;
}

export class LoopRanges {
  private readonly list: readonly CompiledRange[];
  /** The compiler for expressions that see the variables. */
  readonly inner: ExpressionCompiler;

  constructor(bindings: readonly RangeBinding[], compiler: ExpressionCompiler) {
    const variables = new Map<string, Variable>();
    const variable = (name: string): Variable => {
      const bound: Variable = { value: undefined };
      variables.set(name, bound);
      return bound;
    };
    this.list = bindings.map(({ name, position, of, isDeep }) => ({
      of: compiler.compile(of),
      isDeep,
      position: position === undefined ? undefined : variable(position),
      value: variable(name),
    }));
    this.inner = compiler.inner(variables);
  }

  /** NULL or MISSING if one of the ranges is not an array or object. */
  run<Kept>(loop: Loop<Kept>, row: readonly Value[], context: EvaluationContext): Value {
    const own = enter();
    const paused = pausedAt<LoopRun<Kept>>(own, this);
    const left = stepsLeft();
    if (paused !== undefined) countSteps(paused.steps);
    if (paused?.state === null) return paused.result as Value;
    const around = rowTasks();
    const run = paused?.state ?? new LoopRun(this.list, loop);
    begin(paused?.inner ?? noTasks);
    if (paused !== undefined) context.resumed?.();
    let result: Value;
    try {
      result = run.result(row, context);
    } catch (error) {
      // When the row is evaluated again for another reason, a loop begins again if it has not paused, or if the row has got random values:
      // each evaluation gets them from the first on.
      const isKept = error instanceof PauseNeeded || (paused !== undefined && context.hasDrawn?.() !== true);
      if (isKept) {
        const { inner, stepsLeftThen } = run;
        const steps = stepsLeftThen === undefined ? 0 : left - stepsLeftThen;
        keep(around, { owner: this, position: own, state: run, steps, inner });
      } else drop(around, own);
      throw error;
    }
    leave(around, context, paused, { position: own, result, steps: left - stepsLeft() });
    return result;
  }
}

class LoopRun<Kept> {
  /** After an error: the tasks within the ranges, or within the round, that did not end. */
  inner: PausedTasks = noTasks;
  /** After an error: `stepsLeft()` before the round that will run again; undefined: the ranges are not known yet. */
  stepsLeftThen: number | undefined;
  private readonly list: readonly CompiledRange[];
  private readonly loop: Loop<Kept>;
  /** undefined: not known yet. */
  private ranges: readonly LoopRange[] | undefined;
  private kept: Kept | undefined;
  private at = 0;

  constructor(list: readonly CompiledRange[], loop: Loop<Kept>) {
    this.list = list;
    this.loop = loop;
  }

  /** After a throw the next call goes on with the round that threw. */
  result(row: readonly Value[], context: EvaluationContext): Value {
    if (this.ranges === undefined) {
      const ranges = this.rangesOf(row, context);
      if (ranges === null || ranges === undefined) return ranges;
      this.ranges = ranges;
      this.kept = this.loop.begin(ranges);
      begin(noTasks);
    }
    return this.runRounds(this.ranges, this.kept as Kept, row, context);
  }

  private rangesOf(
    row: readonly Value[],
    context: EvaluationContext,
  ): readonly LoopRange[] | null | undefined {
    const ranges: LoopRange[] = [];
    let isNull = false;
    try {
      for (const compiled of this.list) {
        const value = compiled.of(row, context);
        if (value === undefined) return undefined;
        const range = rangeOf(value, compiled, context);
        if (range === undefined) isNull = true;
        else ranges.push(range);
      }
    } catch (error) {
      this.inner = rowTasks();
      throw error;
    }
    return isNull ? null : ranges;
  }

  /**
   * Sets the variables to each element in turn, until a round ends the loop. Then restores their previous values, except after an error: the
   * error ends the evaluation of the row, or a loop around this one sets its variables anew.
   */
  private runRounds(
    ranges: readonly LoopRange[],
    ownKept: Kept,
    row: readonly Value[],
    context: EvaluationContext,
  ): Value {
    const { list, loop } = this;
    const before = list.map(({ value, position }) => [value.value, position?.value] as const);
    const length = Math.min(...ranges.map(({ values }) => values.length));
    let kept = ownKept;
    let failure: { readonly error: unknown } | null = null;
    for (let at = this.at; at < length; at++) {
      const left = stepsLeft();
      countSteps(roundSteps);
      setVariables(list, ranges, at);
      try {
        if (loop.round(kept, row, context)) break;
      } catch (error) {
        if (failure === null) {
          failure = { error };
          this.stopAt(at, rowTasks(), left);
          // Further rounds only find what they need.
          kept = loop.begin(ranges);
        }
        if (context.continuesAfter?.(error) !== true) break;
      }
      begin(noTasks);
      if (failure === null && isPauseDue(context)) {
        this.stopAt(at + 1, noTasks, stepsLeft());
        throw new PauseNeeded();
      }
    }
    if (failure !== null) throw failure.error;
    for (let index = 0; index < list.length; index++) {
      const { value, position } = list[index] as CompiledRange;
      [value.value] = before[index] as readonly [Value, Value];
      if (position !== undefined) position.value = before[index]?.[1];
    }
    return loop.result(kept);
  }

  private stopAt(at: number, inner: PausedTasks, left: number): void {
    this.at = at;
    this.inner = inner;
    this.stepsLeftThen = left;
  }
}

function setVariables(list: readonly CompiledRange[], ranges: readonly LoopRange[], at: number): void {
  for (let index = 0; index < ranges.length; index++) {
    const { value, position } = list[index] as CompiledRange;
    const range = ranges[index] as LoopRange;
    value.value = range.values[at];
    if (position !== undefined) position.value = range.positions?.[at];
  }
}

/** The values of a range; undefined for a value without elements: other than an array, or with WITHIN or a position variable an object. */
function rangeOf(value: Value, compiled: CompiledRange, context: EvaluationContext): LoopRange | undefined {
  if (compiled.position !== undefined) {
    const pairs = compiled.isDeep ? descendantPairs(value) : pairsOf(value);
    return pairs && { values: pairs.map(([, item]) => item), positions: pairs.map(([at]) => at) };
  }
  const values = compiled.isDeep ? descendants(value, compiled, context) : itemsOfValue(value);
  return values && { values, positions: undefined };
}

type Pair = readonly [position: Value, value: Value];

function pairsOf(value: Value): readonly Pair[] | undefined {
  const items = itemsOfValue(value);
  if (items !== undefined) return items.map((item, at): Pair => [at, item]);
  return isComposite(value) ? sortedMembers(value) : undefined;
}

function descendantPairs(value: Value): readonly Pair[] | undefined {
  const pairs = pairsOf(value);
  countSteps(listedSteps * (pairs?.length ?? 0));
  return pairs?.flatMap((pair): readonly Pair[] => [pair, ...(descendantPairs(pair[1]) ?? [])]);
}

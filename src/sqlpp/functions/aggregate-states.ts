// The states of aggregates: add values, compute the result. Without values the result is NULL, for COUNT 0.
import { sortInSteps } from '#base/sort-steps.ts';
import type { WorkSteps } from '#base/steps.ts';
import type { Aggregate } from '../tree/expression.ts';
import { add, divide } from '../values/arithmetic.ts';
import { collate } from '../values/collation.ts';
import { shownIdentityOf } from '../values/identity.ts';
import { resolveDeep } from '../values/json-parse.ts';
import { isNumber } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import { RunningMedian } from './running-median.ts';
import { RunningVariance } from './running-variance.ts';

export interface AggregateState {
  /** Adds a value; for COUNT(*) any value. */
  add(value: Value): void;
  result(): Value;
  /** As `result`, in steps where many values are stored; absent: `result` takes little time. */
  resultInSteps?(): WorkSteps<Value>;
  /** How many values the state stores; absent: none. */
  readonly storedValues?: number;
  /** How many values `result` reads; absent: few. */
  readonly readValues?: number;
}

/** A new state of an aggregate, DISTINCT or not. The caller applies FILTER. `isRunning`: it needs a result after each value. */
export function aggregateStateOf(
  aggregate: Pick<Aggregate, 'name' | 'arguments' | 'isDistinct'>,
  isRunning = false,
): AggregateState {
  const { name, isDistinct } = aggregate;
  if (aggregate.arguments.length === 0) return new CountAll();
  const state = isRunning && name === 'median' ? new MedianSoFar() : stateNamed(name);
  return isDistinct ? new Distinct(state) : state;
}

/** Whether the aggregate reads more of a value than its type and, of a number, the number itself. */
export const readsWholeValues = ({ name, isDistinct }: Pick<Aggregate, 'name' | 'isDistinct'>): boolean =>
  isDistinct || name === 'min' || name === 'max' || name === 'array_agg';

function stateNamed(name: string): AggregateState {
  switch (name) {
    case 'count':
      return new Count(isKnown);
    case 'countn':
      return new Count(isNumber);
    case 'sum':
      return new Sum();
    case 'avg':
    case 'mean':
      return new Average();
    case 'min':
      return new Extreme(-1);
    case 'max':
      return new Extreme(1);
    case 'array_agg':
      return new ArrayAgg();
    case 'median':
      return new Median();
    case 'variance':
      return new Variance(1, 0);
    case 'variance_samp':
    case 'var_samp':
      return new Variance(1, null);
    case 'variance_pop':
    case 'var_pop':
      return new Variance(0, 0);
    case 'stddev':
      return new StandardDeviation(1, 0);
    case 'stddev_samp':
      return new StandardDeviation(1, null);
    case 'stddev_pop':
      return new StandardDeviation(0, 0);
    default:
      throw new Error(`${name} is no aggregate without a window`);
  }
}

function isKnown(value: Value): boolean {
  return value !== undefined && value !== null;
}

class CountAll implements AggregateState {
  private count = 0;

  add(): void {
    this.count++;
  }

  result(): Value {
    return this.count;
  }
}

class Count implements AggregateState {
  private count = 0;
  private readonly counts: (value: Value) => boolean;

  constructor(counts: (value: Value) => boolean) {
    this.counts = counts;
  }

  add(value: Value): void {
    if (this.counts(value)) this.count++;
  }

  result(): Value {
    return this.count;
  }
}

class Sum implements AggregateState {
  private sum: Value = null;

  add(value: Value): void {
    if (isNumber(value)) this.sum = this.sum === null ? value : add(this.sum, value);
  }

  result(): Value {
    return this.sum;
  }
}

class Average implements AggregateState {
  private sum: Value = 0;
  private count = 0;

  add(value: Value): void {
    if (!isNumber(value)) return;
    this.sum = add(this.sum, value);
    this.count++;
  }

  result(): Value {
    return divide(this.sum, this.count);
  }
}

class Extreme implements AggregateState {
  private found: Value = null;
  private readonly sign: 1 | -1;

  constructor(sign: 1 | -1) {
    this.sign = sign;
  }

  add(value: Value): void {
    if (isKnown(value) && (this.found === null || collate(value, this.found) * this.sign > 0))
      this.found = value;
  }

  result(): Value {
    return this.found;
  }
}

/** ARRAY_AGG: all values except MISSING, in collation order. */
class ArrayAgg implements AggregateState {
  private readonly values: Value[] = [];

  get storedValues(): number {
    return this.values.length;
  }

  get readValues(): number {
    return this.values.length;
  }

  add(value: Value): void {
    if (value !== undefined) this.values.push(resolveDeep(value));
  }

  result(): Value {
    return this.values.length === 0 ? null : this.values.toSorted(collate);
  }

  *resultInSteps(): WorkSteps<Value> {
    return this.values.length === 0 ? null : yield* sortInSteps(this.values, collate);
  }
}

type Numeric = number | bigint;

class Median implements AggregateState {
  private readonly values: Numeric[] = [];

  get storedValues(): number {
    return this.values.length;
  }

  get readValues(): number {
    return this.values.length;
  }

  add(value: Value): void {
    if (isNumber(value)) this.values.push(value);
  }

  result(): Value {
    return this.values.length === 0 ? null : middleOf(this.values.toSorted(collate));
  }

  *resultInSteps(): WorkSteps<Value> {
    return this.values.length === 0 ? null : middleOf(yield* sortInSteps(this.values, collate));
  }
}

function middleOf(sorted: readonly Numeric[]): Value {
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length % 2 === 1) return sorted[middle];
  return divide(add(sorted[middle - 1], sorted[middle]), 2);
}

class MedianSoFar implements AggregateState {
  private readonly median = new RunningMedian();

  add(value: Value): void {
    if (isNumber(value)) this.median.add(value);
  }

  result(): Value {
    return this.median.result();
  }
}

class Variance implements AggregateState {
  private readonly variance = new RunningVariance();
  private readonly correction: 0 | 1;
  private readonly ofOne: 0 | null;

  /** `correction` is subtracted from the number of values; `ofOne` is the variance of a single value. */
  constructor(correction: 0 | 1, ofOne: 0 | null) {
    this.correction = correction;
    this.ofOne = ofOne;
  }

  add(value: Value): void {
    if (isNumber(value)) this.variance.add(Number(value));
  }

  result(): number | null {
    const { count } = this.variance;
    if (count < 2) return count === 0 ? null : this.ofOne;
    return this.variance.result(this.correction);
  }
}

class StandardDeviation extends Variance {
  override result(): number | null {
    const variance = super.result();
    return variance === null ? null : Math.sqrt(variance);
  }
}

/** Values that collate equal count once. */
class Distinct implements AggregateState {
  private readonly values = new Map<string, Value>();
  private readonly inner: AggregateState;

  constructor(inner: AggregateState) {
    this.inner = inner;
  }

  get storedValues(): number {
    return this.values.size;
  }

  get readValues(): number {
    return this.inner.readValues ?? 0;
  }

  add(value: Value): void {
    if (value === undefined) return;
    const identity = shownIdentityOf(value);
    if (this.values.has(identity)) return;
    this.values.set(identity, value);
    this.inner.add(value);
  }

  result(): Value {
    return this.inner.result();
  }

  *resultInSteps(): WorkSteps<Value> {
    return this.inner.resultInSteps ? yield* this.inner.resultInSteps() : this.inner.result();
  }
}

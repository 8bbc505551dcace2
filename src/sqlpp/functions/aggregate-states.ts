// The states of aggregates: add values, merge partial states, compute the result. Without values the result is NULL, for COUNT 0.
import { sortInSteps } from '#base/sort-steps.ts';
import type { WorkSteps } from '#base/steps.ts';
import type { Aggregate } from '../tree/expression.ts';
import { add, divide } from '../values/arithmetic.ts';
import { collate } from '../values/collation.ts';
import { shownIdentityOf } from '../values/identity.ts';
import { resolveDeep } from '../values/json-parse.ts';
import { isNumber } from '../values/types.ts';
import type { Value } from '../values/value.ts';

export interface AggregateState {
  /** Adds a value; for COUNT(*) any value. */
  add(value: Value): void;
  /** Merges another state of the same aggregate. */
  merge(other: AggregateState): void;
  result(): Value;
  /** As `result`, in steps where many values are stored; absent: `result` takes little time. */
  resultInSteps?(): WorkSteps<Value>;
  /** How many values the state stores; absent: none. */
  readonly storedValues?: number;
}

/** A new state of an aggregate, DISTINCT or not. The caller applies FILTER. */
export function aggregateStateOf(
  aggregate: Pick<Aggregate, 'name' | 'arguments' | 'isDistinct'>,
): AggregateState {
  const { name, isDistinct } = aggregate;
  if (aggregate.arguments.length === 0) return new CountAll();
  const state = stateNamed(name);
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
      return new Numbers((values) => variance(values, 1, 0));
    case 'variance_samp':
    case 'var_samp':
      return new Numbers((values) => variance(values, 1, null));
    case 'variance_pop':
    case 'var_pop':
      return new Numbers((values) => variance(values, 0, 0));
    case 'stddev':
      return new Numbers((values) => root(variance(values, 1, 0)));
    case 'stddev_samp':
      return new Numbers((values) => root(variance(values, 1, null)));
    case 'stddev_pop':
      return new Numbers((values) => root(variance(values, 0, 0)));
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

  merge(other: AggregateState): void {
    this.count += (other as CountAll).count;
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

  merge(other: AggregateState): void {
    this.count += (other as Count).count;
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

  merge(other: AggregateState): void {
    this.add((other as Sum).sum);
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

  merge(other: AggregateState): void {
    this.sum = add(this.sum, (other as Average).sum);
    this.count += (other as Average).count;
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

  merge(other: AggregateState): void {
    this.add((other as Extreme).found);
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

  add(value: Value): void {
    if (value !== undefined) this.values.push(resolveDeep(value));
  }

  merge(other: AggregateState): void {
    for (const value of (other as ArrayAgg).values) this.values.push(value);
  }

  result(): Value {
    return this.values.length === 0 ? null : this.values.toSorted(collate);
  }

  *resultInSteps(): WorkSteps<Value> {
    return this.values.length === 0 ? null : yield* sortInSteps(this.values, collate);
  }
}

type Numeric = number | bigint;

class Numbers implements AggregateState {
  protected readonly values: Numeric[] = [];
  private readonly of: (values: readonly Numeric[]) => Value;

  constructor(of: (values: readonly Numeric[]) => Value) {
    this.of = of;
  }

  get storedValues(): number {
    return this.values.length;
  }

  add(value: Value): void {
    if (isNumber(value)) this.values.push(value);
  }

  merge(other: AggregateState): void {
    for (const value of (other as Numbers).values) this.values.push(value);
  }

  result(): Value {
    return this.values.length === 0 ? null : this.of(this.values);
  }
}

class Median extends Numbers {
  constructor() {
    super((values) => middleOf(values.toSorted(collate)));
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

/** `correction` is subtracted from the number of values; `ofOne` is the variance of a single value. */
function variance(values: readonly Numeric[], correction: 0 | 1, ofOne: 0 | null): number | null {
  if (values.length === 1) return ofOne;
  const numbers = values.map(Number);
  const mean = numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
  return numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (numbers.length - correction);
}

function root(value: number | null): number | null {
  return value === null ? null : Math.sqrt(value);
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

  add(value: Value): void {
    if (value === undefined) return;
    const identity = shownIdentityOf(value);
    if (this.values.has(identity)) return;
    this.values.set(identity, value);
    this.inner.add(value);
  }

  merge(other: AggregateState): void {
    for (const value of (other as Distinct).values.values()) this.add(value);
  }

  result(): Value {
    return this.inner.result();
  }

  *resultInSteps(): WorkSteps<Value> {
    return this.inner.resultInSteps ? yield* this.inner.resultInSteps() : this.inner.result();
  }
}

// The median of numbers that are added one by one: the smaller half of them is in one heap, the larger half in another.
import { add, divide } from '../values/arithmetic.ts';
import { compareNumbers } from '../values/collation.ts';
import type { Value } from '../values/value.ts';

type Numeric = number | bigint;

export class RunningMedian {
  /** Has as many numbers as `larger`, or one more. */
  private readonly smaller = new NumberHeap(-1);
  private readonly larger = new NumberHeap(1);

  add(number: Numeric): void {
    const { smaller, larger } = this;
    const isSmaller = smaller.size > 0 && compareNumbers(number, smaller.top) < 0;
    if (isSmaller) smaller.add(number);
    else larger.add(number);
    if (larger.size > smaller.size) smaller.add(larger.pop());
    else if (smaller.size > larger.size + 1) larger.add(smaller.pop());
  }

  result(): Value {
    const { smaller, larger } = this;
    if (smaller.size === 0) return null;
    return smaller.size > larger.size ? smaller.top : divide(add(smaller.top, larger.top), 2);
  }
}

/** A binary heap: `top` is the least number, or with the sign -1 the greatest. */
class NumberHeap {
  private readonly numbers: Numeric[] = [];
  private readonly sign: 1 | -1;

  constructor(sign: 1 | -1) {
    this.sign = sign;
  }

  get size(): number {
    return this.numbers.length;
  }

  /** Call only if the heap has a number. */
  get top(): Numeric {
    return this.numbers[0] as Numeric;
  }

  add(number: Numeric): void {
    const { numbers } = this;
    let at = numbers.length;
    numbers.push(number);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.isBefore(number, numbers[parent] as Numeric)) break;
      numbers[at] = numbers[parent] as Numeric;
      at = parent;
    }
    numbers[at] = number;
  }

  /** Removes the top. Call only if the heap has a number. */
  pop(): Numeric {
    const { numbers, top } = this;
    const last = numbers.pop() as Numeric;
    if (numbers.length > 0) this.sink(last);
    return top;
  }

  /** Puts a number in place of the top, and moves it down to where it belongs. */
  private sink(number: Numeric): void {
    const { numbers } = this;
    const count = numbers.length;
    let at = 0;
    for (let child = 1; child < count; child = 2 * at + 1) {
      const other = child + 1;
      if (other < count && this.isBefore(numbers[other] as Numeric, numbers[child] as Numeric)) child = other;
      if (!this.isBefore(numbers[child] as Numeric, number)) break;
      numbers[at] = numbers[child] as Numeric;
      at = child;
    }
    numbers[at] = number;
  }

  private isBefore(a: Numeric, b: Numeric): boolean {
    return compareNumbers(a, b) * this.sign < 0;
  }
}

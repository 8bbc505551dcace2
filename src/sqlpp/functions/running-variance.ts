// The variance of numbers that are added one by one. Sums have twice the digits of a double, so that the result is as exact as one from the
// differences between all numbers and their mean, which takes a second pass over them.

/** Multiplied by this, a double is split into two halves of its digits. */
const splitter = 2 ** 27 + 1;

/** What the double `product` lacks of `a * b`. */
function lostIn(product: number, a: number, b: number): number {
  const [scaledA, scaledB] = [splitter * a, splitter * b];
  const [highA, highB] = [scaledA - (scaledA - a), scaledB - (scaledB - b)];
  const [lowA, lowB] = [a - highA, b - highB];
  return highA * highB - product + highA * lowB + lowA * highB + lowA * lowB;
}

/** A sum with twice the digits of a double: that of `high` and of `low`, which `high` lacks. */
class WideSum {
  high = 0;
  low = 0;

  add(high: number, low: number): void {
    const sum = this.high + high;
    const added = sum - this.high;
    const lost = this.high - (sum - added) + (high - added) + this.low + low;
    this.high = sum + lost;
    this.low = lost - (this.high - sum);
  }
}

export class RunningVariance {
  count = 0;
  /** Sums are those of the differences from the first number, since squares of large numbers would hide small differences. */
  private first = 0;
  private readonly differences = new WideSum();
  private readonly squares = new WideSum();
  private areFinite = true;

  add(number: number): void {
    if (this.count++ === 0) this.first = number;
    if (!Number.isFinite(number)) this.areFinite = false;
    const high = number - this.first;
    const subtracted = high - number;
    const low = number - (high - subtracted) - (this.first + subtracted);
    this.differences.add(high, low);
    const square = high * high;
    this.squares.add(square, lostIn(square, high, high) + 2 * high * low);
  }

  /** The squares of the differences from the mean, divided by `count - correction`. */
  result(correction: 0 | 1): number {
    const { high, low } = this.differences;
    const mean = high / this.count;
    const product = mean * this.count;
    const lowOfMean = (high - product - lostIn(product, mean, this.count) + low) / this.count;
    const square = mean * high;
    const sum = new WideSum();
    sum.add(this.squares.high, this.squares.low);
    sum.add(-square, -(lostIn(square, mean, high) + mean * low + lowOfMean * high));
    // Squares of finite numbers may be too large for a double.
    if (Number.isNaN(sum.high)) return this.areFinite ? Number.POSITIVE_INFINITY : Number.NaN;
    return Math.max(0, sum.high) / (this.count - correction);
  }
}

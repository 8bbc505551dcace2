// Divides the values of a sample, which come in collation order with their numbers, into bins of about the same number of values. A value
// that fills a bin alone has its own.
import type { StatisticsBin } from '#sqlpp/datastore/statistics.ts';

interface Bin {
  upTo: unknown;
  values: number;
  distinct: number;
  /** Values that the sample has once. */
  single: number;
}

const boundMax = 64;

export class Histogram {
  private readonly height: number;
  private readonly bins: Bin[] = [];
  private current: Bin = emptyBin();

  constructor(valuesInSample: number, resolution: number) {
    this.height = (valuesInSample * resolution) / 100;
  }

  add(value: unknown, count: number): void {
    const isHeavy = count >= this.height;
    if (isHeavy || this.current.values + count > this.height) this.close();
    const { current } = this;
    current.upTo = value;
    current.values += count;
    current.distinct++;
    if (count === 1) current.single++;
    if (isHeavy) this.close();
  }

  /** `sampledShare`: of all values of the collection, those in the sample. */
  finish(sampledShare: number): { bins: StatisticsBin[]; distinct: number } {
    this.close();
    const { bins } = this;
    const values = sum(bins, (bin) => bin.values);
    const [inSample, single] = [sum(bins, (bin) => bin.distinct), sum(bins, (bin) => bin.single)];
    const distinct = estimatedDistinct({ values, distinct: inSample, single }, sampledShare);
    const unseen = single === 0 ? 0 : (distinct - inSample) / single;
    return {
      distinct: rounded(distinct),
      bins: bins.map((bin) => ({
        upTo: shortBound(bin.upTo),
        share: rounded(bin.values / values),
        distinct: rounded(bin.distinct + bin.single * unseen),
      })),
    };
  }

  private close(): void {
    if (this.current.values > 0) this.bins.push(this.current);
    this.current = emptyBin();
  }
}

const emptyBin = (): Bin => ({ upTo: undefined, values: 0, distinct: 0, single: 0 });

const sum = (bins: readonly Bin[], of: (bin: Bin) => number): number =>
  bins.reduce((total, bin) => total + of(bin), 0);

const rounded = (value: number): number => Number(value.toPrecision(6));

/** Haas and Stokes' estimator Duj1: the more values the sample has only once, the more it has not seen. */
function estimatedDistinct(
  { values, distinct, single }: { values: number; distinct: number; single: number },
  sampledShare: number,
): number {
  if (values === 0) return 0;
  return (values * distinct) / (values - single + single * sampledShare);
}

/** Bounds are stored, so long ones are cut. */
function shortBound(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, boundMax);
  if (typeof value !== 'object' || value === null || JSON.stringify(value).length <= boundMax) return value;
  return Array.isArray(value) ? [] : {};
}

// Builds the histogram of a sample: bins with about the same number of values each. The caller adds the distinct values in collation order,
// each with the number of times that the sample has it. A value that is frequent enough to fill a bin gets a bin of its own.
import type { StatisticsBin } from '#sqlpp/datastore/statistics.ts';

interface Bin {
  upTo: unknown;
  values: number;
  distinct: number;
  /** Distinct values that the sample has only once. */
  single: number;
}

/** The longest bound, in characters of its text. */
const boundMax = 64;

export class HistogramBuilder {
  private readonly valuesPerBin: number;
  private readonly bins: Bin[] = [];
  private current: Bin = emptyBin();

  /** `resolution`: the percentage of the values that a bin takes. */
  constructor(valuesInSample: number, resolution: number) {
    this.valuesPerBin = (valuesInSample * resolution) / 100;
  }

  add(value: unknown, count: number): void {
    const isHeavy = count >= this.valuesPerBin;
    if (isHeavy || this.current.values + count > this.valuesPerBin) this.close();
    const { current } = this;
    current.upTo = value;
    current.values += count;
    current.distinct++;
    if (count === 1) current.single++;
    if (isHeavy) this.close();
  }

  /** `sampledShare`: the share of the values of the collection that is in the sample. */
  finish(sampledShare: number): { bins: StatisticsBin[]; distinct: number } {
    this.close();
    const { bins } = this;
    const values = sum(bins, (bin) => bin.values);
    const [inSample, single] = [sum(bins, (bin) => bin.distinct), sum(bins, (bin) => bin.single)];
    const distinct = estimatedDistinct({ values, distinct: inSample, single }, sampledShare);
    const unseenPerSingle = single === 0 ? 0 : (distinct - inSample) / single;
    return {
      distinct: rounded(distinct),
      bins: bins.map((bin) => ({
        upTo: shortBound(bin.upTo),
        share: rounded(bin.values / values),
        distinct: rounded(bin.distinct + bin.single * unseenPerSingle),
      })),
    };
  }

  private close(): void {
    if (this.current.values > 0) this.bins.push(this.current);
    this.current = emptyBin();
  }
}

const emptyBin = (): Bin => ({ upTo: undefined, values: 0, distinct: 0, single: 0 });

const sum = (bins: readonly Bin[], countOf: (bin: Bin) => number): number =>
  bins.reduce((total, bin) => total + countOf(bin), 0);

const rounded = (value: number): number => Number(value.toPrecision(6));

/** Haas and Stokes' estimator Duj1: the more values the sample has only once, the more values are not in the sample. */
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

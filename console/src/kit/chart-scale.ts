// The vertical scale of a chart: it contains zero and all values.

export interface ChartScale {
  readonly lowest: number;
  readonly highest: number;
  /** 0 for the lowest value, 1 for the highest. */
  heightOf(value: number): number;
}

export function chartScale(values: readonly number[]): ChartScale {
  const lowest = Math.min(...values, 0);
  const greatest = Math.max(...values, 0);
  const highest = greatest === lowest ? lowest + 1 : greatest;
  return { lowest, highest, heightOf: (value) => (value - lowest) / (highest - lowest) };
}

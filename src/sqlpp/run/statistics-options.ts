// WITH of UPDATE STATISTICS.
import { sqlError } from '../errors/sql-error.ts';
import type { Value } from '../values/value.ts';

export interface StatisticsOptions {
  /** The number of documents in the sample. */
  readonly sampleSize: number;
  /** Percent of the values in one bin. */
  readonly resolution: number;
  /** 0: no limit. */
  readonly timeoutSeconds: number;
  /** Expressions that one scan of the collection gathers. */
  readonly batchSize: number;
}

/** The sample has this many documents for each bin; with the finest resolution these are `sampleSizeMax`. */
const documentsPerBin = 100;
export const sampleSizeMax = 40_000;

const ranges = {
  sample_size: { low: 1, high: sampleSizeMax, isInteger: true },
  resolution: { low: 0.25, high: 5, isInteger: false },
  update_statistics_timeout: { low: 0, high: 86_400, isInteger: false },
  batch_size: { low: 1, high: 10, isInteger: true },
} as const;

type OptionName = keyof typeof ranges;

/** @throws SqlError 3100 that names the option */
export function statisticsOptions(value: Value): StatisticsOptions {
  const given = optionsIn(value);
  const resolution = given.resolution ?? 1;
  return {
    sampleSize: given.sample_size ?? Math.ceil((100 / resolution) * documentsPerBin),
    resolution,
    timeoutSeconds: given.update_statistics_timeout ?? 60,
    batchSize: given.batch_size ?? 10,
  };
}

function optionsIn(value: Value): Partial<Record<OptionName, number>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw sqlError(3100, 'WITH of UPDATE STATISTICS takes an object, as in {"resolution": 0.5}');
  const options: Partial<Record<OptionName, number>> = {};
  for (const [name, given] of Object.entries(value)) {
    if (!Object.hasOwn(ranges, name))
      throw sqlError(
        3100,
        `WITH of UPDATE STATISTICS has no ${name}; known are ${Object.keys(ranges).join(', ')}`,
      );
    options[name as OptionName] = checked(name as OptionName, given as Value);
  }
  return options;
}

function checked(name: OptionName, value: Value): number {
  const { low, high, isInteger } = ranges[name];
  const isNumber = typeof value === 'number' && (!isInteger || Number.isInteger(value));
  if (isNumber && value >= low && value <= high) return value;
  const kind = isInteger ? 'a whole number' : 'a number';
  throw sqlError(3100, `WITH of UPDATE STATISTICS: ${name} is ${kind} from ${low} to ${high}`);
}

// Estimates the memory of values, for quotas and spilling. The constants approximate what the runtime adds to each value.
import { countSteps } from '../values/step-limit.ts';
import { Binary, RawJson, type Value } from '../values/value.ts';

export function sizeOf(value: Value): number {
  switch (typeof value) {
    case 'string':
      return 24 + value.length;
    case 'object':
      return value === null ? 8 : sizeOfObject(value);
    case 'bigint':
      return 24;
    default:
      return 8;
  }
}

function sizeOfObject(value: object): number {
  if (value instanceof RawJson) return 40 + value.end - value.start;
  if (value instanceof Binary) return 40 + value.bytes.length;
  let bytes = 32;
  if (Array.isArray(value)) {
    countSteps(value.length);
    for (const item of value as Value[]) bytes += sizeOf(item);
    return bytes;
  }
  const members = value as Record<string, Value>;
  let count = 0;
  for (const name in members) {
    count++;
    bytes += 16 + name.length + sizeOf(members[name]);
  }
  countSteps(count);
  return bytes;
}

/** The memory of a copy of a row, whose values are those of other rows. */
export function sizeOfCopy(row: readonly Value[]): number {
  return 32 + 8 * row.length;
}

export function sizeOfRow(row: readonly Value[]): number {
  let bytes = 32;
  for (const value of row) bytes += value === undefined ? 8 : sizeOf(value);
  return bytes;
}

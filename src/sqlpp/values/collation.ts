import type { ValueObject } from './value.ts';
export function memberNames(object: ValueObject): string[] {
  return Object.keys(object).sort();
}

// The documents of a simulated schedule in the default collection.
import { DurabilityLevel } from '#kv/data/documents.ts';
import type { Random } from './random.ts';

/** Keys with the durability level of their writes, by its first letter (m, a, p). */
export const durableKeys = {
  m0: DurabilityLevel.majority,
  m1: DurabilityLevel.majority,
  a: DurabilityLevel.majorityAndPersistActive,
  p: DurabilityLevel.persistToMajority,
};
/** Keys whose writes have no durability level. */
export const plainKeys = ['x0', 'x1', 'x2', 'x3'];
export const allKeys = [...Object.keys(durableKeys), ...plainKeys];

export const pick = <T>(random: Random, all: readonly T[]): T => all[random(all.length)] as T;

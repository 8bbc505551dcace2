// CAS values: a hybrid logical clock per vbucket. A new value is the wall clock's if that is above all assigned ones, else one above them.
// Zero and all ones have a meaning of their own in requests and replies: they are never assigned.

import type { VbucketColumns } from './columns.ts';
import type { Now } from './now.ts';

interface CasWords {
  casHi: number;
  casLo: number;
}

/** The value that `advanceCas` would assign now. */
export function nextCas(columns: VbucketColumns, vb: number, now: Now, next: CasWords): void {
  const high = columns.casHi[vb] as number;
  const low = columns.casLo[vb] as number;
  const isAhead = now.casHi > high || (now.casHi === high && now.casLo > low) || isLast(high, low);
  next.casHi = isAhead ? now.casHi : low === 0xffffffff ? high + 1 : high;
  next.casLo = isAhead ? now.casLo : (low + 1) >>> 0;
}

/** Advances the vbucket's clock; its new value is in `columns.casHi` and `columns.casLo`. */
export function advanceCas(columns: VbucketColumns, vb: number, now: Now): void {
  const { casHi, casLo } = columns;
  const high = casHi[vb] as number;
  const low = casLo[vb] as number;
  if (now.casHi > high || (now.casHi === high && now.casLo > low) || isLast(high, low)) {
    casHi[vb] = now.casHi;
    casLo[vb] = now.casLo;
    return;
  }
  casLo[vb] = low + 1;
  if (low === 0xffffffff) casHi[vb] = high + 1;
}

/** Whether no assignable value is above this one: the clock continues with the present time. */
const isLast = (high: number, low: number): boolean => high === 0xffffffff && low >= 0xfffffffe;

/** Raises the clock to at least `value` plus `extra`. Another node or cluster assigned the value. */
export function raiseCas(
  columns: VbucketColumns,
  vb: number,
  value: { hi: number; lo: number; extra: number },
): void {
  const sum = value.lo + value.extra;
  const low = sum % 2 ** 32;
  const high = value.hi + Math.floor(sum / 2 ** 32);
  const current = columns.casHi[vb] as number;
  if (high < current || (high === current && low <= (columns.casLo[vb] as number))) return;
  columns.casHi[vb] = high;
  columns.casLo[vb] = low;
}

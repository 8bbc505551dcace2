// CAS values: a hybrid logical clock per vbucket. A new value is the wall clock's if that is above all assigned ones, else one above them.
import type { Now } from './now.ts';
import type { VbucketRows } from './rows.ts';

interface CasWords {
  casHi: number;
  casLo: number;
}

/** The value that `advanceCas` would assign now. */
export function nextCas(rows: VbucketRows, row: number, now: Now, next: CasWords): void {
  const high = rows.casHi[row] as number;
  const low = rows.casLo[row] as number;
  const isAhead = now.casHi > high || (now.casHi === high && now.casLo > low);
  next.casHi = isAhead ? now.casHi : low === 0xffffffff ? high + 1 : high;
  next.casLo = isAhead ? now.casLo : (low + 1) >>> 0;
}

/** Advances the vbucket's clock; its new value is in `rows.casHi` and `rows.casLo`. */
export function advanceCas(rows: VbucketRows, row: number, now: Now): void {
  const { casHi, casLo } = rows;
  const high = casHi[row] as number;
  const low = casLo[row] as number;
  if (now.casHi > high || (now.casHi === high && now.casLo > low)) {
    casHi[row] = now.casHi;
    casLo[row] = now.casLo;
    return;
  }
  casLo[row] = low + 1;
  if (low === 0xffffffff) casHi[row] = high + 1;
}

/** Raises the clock to at least a value seen elsewhere (`extra` above it). */
export function raiseCas(
  rows: VbucketRows,
  row: number,
  value: { hi: number; lo: number; extra: number },
): void {
  const sum = value.lo + value.extra;
  const low = sum % 2 ** 32;
  const high = value.hi + Math.floor(sum / 2 ** 32);
  const current = rows.casHi[row] as number;
  if (high < current || (high === current && low <= (rows.casLo[row] as number))) return;
  rows.casHi[row] = high;
  rows.casLo[row] = low;
}

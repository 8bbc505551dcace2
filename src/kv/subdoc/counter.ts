// The sub-document counter: int64 arithmetic on a number in a JSON text.
import { Status } from '#wire/status.ts';
import { addMissing, failed, type SubdocResult, spliced } from './edit.ts';
import { locate, type Match } from './locate.ts';
import type { PathComponent } from './path.ts';

const smallest = -(2n ** 63n);
const largest = 2n ** 63n - 1n;

/** Adds the delta to the number at the path, or creates the member with the delta as its value. */
export function counter(
  text: Buffer,
  path: readonly PathComponent[],
  match: Match,
  mkdirP: boolean,
  value: Buffer,
): SubdocResult {
  const delta = parseDelta(value.toString('latin1'));
  if (delta === null) return failed(Status.subdocDeltaInvalid);
  locate(text, path, match);
  if (match.status !== Status.success) return failed(match.status);
  if (!match.isFound) {
    if (!mkdirP && match.level < path.length - 1) return failed(Status.subdocPathNotFound);
    const number = Buffer.from(String(delta));
    return { ...addMissing(text, path, match, [number]), value: number };
  }
  const stored = text.toString('latin1', match.valueStart, match.valueEnd);
  if (!/^-?\d+$/.test(stored)) return failed(Status.subdocPathMismatch);
  // The length is checked first: parsing millions of digits takes seconds.
  if (stored.length > 20 || !isInt64(BigInt(stored))) return failed(Status.subdocNumberRange);
  const sum = BigInt(stored) + delta;
  if (!isInt64(sum)) return failed(Status.subdocValueCantInsert);
  const number = Buffer.from(String(sum));
  return { ...spliced(text, match.valueStart, match.valueEnd, number), value: number };
}

/** Parses a nonzero int64 without leading zeros; null if it is anything else. */
function parseDelta(digits: string): bigint | null {
  if (!/^-?[1-9]\d{0,18}$/.test(digits)) return null;
  const delta = BigInt(digits);
  return isInt64(delta) ? delta : null;
}

function isInt64(number: bigint): boolean {
  return number >= smallest && number <= largest;
}

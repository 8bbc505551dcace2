// Limits what a statement may do with nested values between two pauses. Some functions and constructors put one value into an array many times, so that
// an expression of few characters makes a value with more elements than the thread can visit, or write, in days. A step is about the time in which the
// thread visits one element.
import { sqlError } from '../errors/sql-error.ts';

/** The most steps without a pause: a few seconds. Enough to change the largest document, and to write it again. */
export const stepsMax = 250_000_000;
/** Counted for an element of a new array. */
export const listedSteps = 4;
/** Counted for an element that is written as text. */
export const writtenSteps = 16;
/** Counted for one round of a loop of ANY, EVERY or ARRAY. */
export const roundSteps = 3;

/** False in threads without statements. */
let isLimited = false;
/** The steps that are allowed before the next pause. */
let left = stepsMax;
/** Steps between two readings of the clock: less than a tenth of a millisecond. */
const timedSteps = 2_048;
/** The value of `left` when the clock was last read. */
let timedAt = stepsMax;

/** Whether so many steps were counted since this was last true that it is worth reading the clock. */
export function isClockDue(): boolean {
  if (left > timedAt - timedSteps && left <= timedAt) return false;
  timedAt = left;
  return true;
}

/** Call before a statement continues after a pause, in which other requests had the thread. */
export function renewSteps(): void {
  isLimited = true;
  left = stepsMax;
}

export const stepsLeft = (): number => left;

/** @throws SqlError 5035 when there were too many steps since `renewSteps` */
export function countSteps(steps: number): void {
  left -= steps;
  if (left < 0) refuseFurtherSteps();
}

/** V8 keeps objects of more members in hash tables, whose names take longer to list. */
const manyNames = 1_000;

/** Counts the names of an object's members where they are listed. */
export function countNames(count: number): void {
  countSteps(count > manyNames ? writtenSteps * count : count);
}

/** Shorter texts are not counted. */
const shortCharacters = 1_024;

/** Counts a step for two characters, so that the limit keeps texts below V8's limit for a string. */
export function countText(characters: number): void {
  if (characters > shortCharacters) countSteps(characters >>> 1);
}

/** Counts a comparison of texts, of which sixteen characters take the time of a step. */
export function countCompared(characters: number): void {
  if (characters > shortCharacters) countSteps(characters >>> 4);
}

function refuseFurtherSteps(): void {
  left = stepsMax;
  if (isLimited) refuseLargeValue();
}

export function refuseLargeValue(): never {
  throw sqlError(5035, 'a value that is too large');
}

// Searches a text for another one in linear time. V8's own search takes the product of both lengths for some texts: 10 million times `a`, searched
// for 30,000 times `a`, `b` and 30,000 times `a`, would keep the thread for a minute.
import { sqlError } from '../errors/sql-error.ts';
import { countSteps } from '../values/step-limit.ts';

/** The most comparisons of V8's search: a few hundredths of a second. */
const comparisonsMax = 2 ** 28;
/** So few comparisons are not counted: they take no noticeable time. */
const uncountedMax = 4_096;
/** V8 makes 64 comparisons in the time of one step. */
const stepsOf = (comparisons: number): number => Math.min(comparisons, comparisonsMax) >>> 6;
/** The longest text that is searched for without V8: each of its characters takes four bytes. */
const searchedMax = 4 * 1024 * 1024;

export class TextSearch {
  readonly #searched: string;
  /** For the Knuth-Morris-Pratt algorithm; null: V8 is fast enough. */
  readonly #borders: Int32Array | null;

  /** @throws SqlError 5035 for a text that is too long to be searched for */
  constructor(searched: string, textLength: number) {
    this.#searched = searched;
    const comparisons = searched.length * Math.max(0, textLength - searched.length + 1);
    this.#borders = comparisons > comparisonsMax ? bordersOf(searched) : null;
    countSteps(stepsOf(comparisons));
  }

  /** The first position from `from` on; -1 without one. */
  find(text: string, from = 0): number {
    const borders = this.#borders;
    const searched = this.#searched;
    if (borders === null) return text.indexOf(searched, from);
    let matched = 0;
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at);
      while (matched > 0 && searched.charCodeAt(matched) !== code) matched = borders[matched - 1] as number;
      if (searched.charCodeAt(matched) === code) matched++;
      if (matched === searched.length) return at + 1 - matched;
    }
    return -1;
  }
}

/** For each prefix the length of its longest proper prefix that is also its suffix. */
function bordersOf(searched: string): Int32Array {
  if (searched.length > searchedMax) throw sqlError(5035, 'a text that is too long to be searched for');
  const borders = new Int32Array(searched.length);
  let length = 0;
  for (let at = 1; at < searched.length; at++) {
    const code = searched.charCodeAt(at);
    while (length > 0 && searched.charCodeAt(length) !== code) length = borders[length - 1] as number;
    if (searched.charCodeAt(length) === code) length++;
    borders[at] = length;
  }
  return borders;
}

export const includesText = (text: string, searched: string): boolean => indexOfText(text, searched) >= 0;

export function indexOfText(text: string, searched: string): number {
  if (text.length * searched.length <= uncountedMax) return text.indexOf(searched);
  return new TextSearch(searched, text.length).find(text);
}

/** The last character before a position. */
export function characterBefore(text: string, end: number): string {
  const pair = text.slice(Math.max(0, end - 2), end);
  return pair.length === 2 && (pair.codePointAt(0) as number) > 0xffff ? pair : text.slice(end - 1, end);
}

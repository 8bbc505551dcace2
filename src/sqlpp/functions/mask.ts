// MASK: replaces characters of a string by those of a mask. A hole of the mask keeps the character, an injected character is added.

import { countSteps, listedSteps } from '../values/step-limit.ts';
import { isObject } from '../values/types.ts';
import type { Value, ValueObject } from '../values/value.ts';
import type { Implementation } from './declaration.ts';
import { regularExpression } from './regular-expressions.ts';

interface Options {
  readonly mask: string;
  /** The option `hole`: characters of the mask that keep the character of the string. */
  readonly holes: ReadonlySet<string>;
  /** The option `inject`: characters of the mask that are added to the string. */
  readonly injected: ReadonlySet<string>;
  /** The result has the length of the string and of the injected characters; else that of the mask. */
  readonly keepsLength: boolean;
  /** Where the mask begins: a position, `start`, `end` or a regular expression. */
  readonly anchor: Value;
}

function optionsOf(value: ValueObject): Options {
  const text = (name: string, otherwise: string): string => {
    const found = value[name];
    return typeof found === 'string' ? found : otherwise;
  };
  return {
    mask: text('mask', '') || '********',
    holes: new Set(text('hole', ' ')),
    injected: new Set(text('inject', '')),
    keepsLength: text('length', '').toLowerCase() === 'source',
    anchor: value['anchor'],
  };
}

export const mask: Implementation = ([text, value], _, memo) => {
  if (typeof text !== 'string' || (value !== undefined && !isObject(value))) return null;
  const options = optionsOf(value ?? {});
  const anchor = anchorOf(text, options.anchor, (pattern) => regularExpression(pattern, memo).search(text));
  if (anchor === undefined || Math.abs(anchor.at) > charactersIn(text, text.length)) return text;
  return masked(text, options, Math.abs(anchor.at), anchor.isFromEnd || anchor.at < 0);
};

/** undefined if the string does not contain the anchor text of the mask. */
function anchorOf(
  text: string,
  anchor: Value,
  find: (pattern: string) => number,
): { readonly at: number; readonly isFromEnd: boolean } | undefined {
  if (typeof anchor === 'number') return { at: Math.trunc(anchor), isFromEnd: false };
  if (typeof anchor !== 'string' || anchor.toLowerCase() === 'start') return { at: 0, isFromEnd: false };
  if (anchor.toLowerCase() === 'end') return { at: 0, isFromEnd: true };
  const at = find(anchor);
  return at < 0 || text === '' ? undefined : { at: charactersIn(text, at), isFromEnd: false };
}

/** How many characters begin in the first `end` UTF-16 units. */
function charactersIn(text: string, end: number): number {
  countSteps(end);
  let count = 0;
  for (let at = 0; at < end; at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1) count++;
  return count;
}

/** `skipped`: the characters before the mask. A mask from the end reverses string and mask, and then the result. */
function masked(text: string, options: Options, skipped: number, isFromEnd: boolean): string {
  const order = (characters: string[]): string[] => (isFromEnd ? characters.reverse() : characters);
  countSteps(listedSteps * 2 * (text.length + options.mask.length));
  const source = order([...text]);
  const pattern = order([...options.mask]);
  const injected = options.keepsLength
    ? pattern.filter((character) => options.injected.has(character)).length
    : 0;
  const length = options.keepsLength ? source.length + injected : pattern.length + skipped;
  const result = source.slice(0, Math.min(skipped, length));
  let from = result.length;
  for (let at = 0; result.length < length; at++) {
    const character = pattern[at];
    if (character === undefined) {
      if (from >= source.length) break;
      result.push(source[from++] as string);
    } else if (options.injected.has(character) && !options.holes.has(character)) result.push(character);
    else {
      const original = source[from++];
      result.push(options.holes.has(character) && original !== undefined ? original : character);
    }
  }
  return order(result).join('');
}

// Upper and lower case of one letter at a time, as in the published server (the simple mappings of the Unicode standard): the number of letters
// stays, and the place of a letter in its word does not matter. JavaScript's own functions turn "ß" into "SS", and the last "Σ" of a word into "ς".
import { TextParts } from './text-parts.ts';

/** Contains every letter whose capital JavaScript writes as several letters. */
const longCapitals = /[ßŉǰΐΰև\u1e96-\u1e9a\u1f50-\u1fff\ufb00-\ufb17]/g;

export function upperCase(text: string): string {
  if (text.search(longCapitals) < 0) return text.toUpperCase();
  const parts = new TextParts();
  let from = 0;
  for (const { 0: letter, index } of text.matchAll(longCapitals)) {
    if (index > from) parts.add(text.slice(from, index).toUpperCase());
    parts.add(upperLetter(letter));
    from = index + letter.length;
  }
  return parts.text() + text.slice(from).toUpperCase();
}

/** "İ" (U+0130) becomes "i" without the dot above, as no other letter becomes two; "Σ" becomes the letter that stands within words. */
export const lowerCase = (text: string): string =>
  text.replaceAll('İ', 'i').replaceAll('Σ', 'σ').toLowerCase();

function upperLetter(letter: string): string {
  const upper = letter.toUpperCase();
  return upper.length === letter.length ? upper : (capitalWithIota(letter) ?? letter);
}

/** The capital at the start of a word: of digraphs such as "ǆ" only the first half, and Georgian letters have none. */
export function titleLetter(letter: string): string {
  if (/[ǆǉǌǳ]/.test(letter)) return String.fromCharCode(letter.charCodeAt(0) - 1);
  return /[ა-ჿ]/.test(letter) ? letter : upperCase(letter);
}

/** Greek vowels with an iota subscript have single capitals: 27 letters of the block Greek Extended. */
function capitalWithIota(letter: string): string | undefined {
  const code = letter.codePointAt(0) as number;
  const isOfEight = [0x1f80, 0x1f90, 0x1fa0].includes(code & ~0x7);
  if (isOfEight) return String.fromCodePoint(code + 8);
  return [0x1fb3, 0x1fc3, 0x1ff3].includes(code) ? String.fromCodePoint(code + 9) : undefined;
}

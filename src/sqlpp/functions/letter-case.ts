// Upper and lower case of one letter at a time, as in the published server (the simple mappings of the Unicode standard): the number of letters
// stays, and the place of a letter in its word does not matter. JavaScript's own functions turn "ß" into "SS", and the last "Σ" of a word into "ς".

/** Outside of ASCII the functions of JavaScript may differ. */
const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

export const upperCase = (text: string): string =>
  isAscii(text) ? text.toUpperCase() : Array.from(text, upperLetter).join('');

export const lowerCase = (text: string): string =>
  isAscii(text) ? text.toLowerCase() : Array.from(text, lowerLetter).join('');

function upperLetter(letter: string): string {
  const upper = letter.toUpperCase();
  return upper.length === letter.length ? upper : (capitalWithIota(letter) ?? letter);
}

/** The capital at the start of a word: of digraphs such as "ǆ" only the first half, and Georgian letters have none. */
export function titleLetter(letter: string): string {
  if (/[ǆǉǌǳ]/.test(letter)) return String.fromCharCode(letter.charCodeAt(0) - 1);
  return /[ა-ჿ]/.test(letter) ? letter : upperCase(letter);
}

/** The lower case, for "İ" (U+0130) without the dot above: no other letter becomes two. */
const lowerLetter = (letter: string): string => (letter === 'İ' ? 'i' : letter.toLowerCase());

/** Greek vowels with an iota subscript have single capitals: 27 letters of the block Greek Extended. */
function capitalWithIota(letter: string): string | undefined {
  const code = letter.codePointAt(0) as number;
  const isOfEight = [0x1f80, 0x1f90, 0x1fa0].includes(code & ~0x7);
  if (isOfEight) return String.fromCodePoint(code + 8);
  return [0x1fb3, 0x1fc3, 0x1ff3].includes(code) ? String.fromCodePoint(code + 9) : undefined;
}

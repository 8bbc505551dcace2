// LIKE patterns, and regular expressions of the language: those that RE2 knows, which can be matched in linear time. Look-around and
// references back are refused.
import { sqlError } from '../errors/sql-error.ts';
import type { Memo } from './declaration.ts';

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'any' };

/** Characters, `_` for any one, `%` for any number; `escape` takes the meaning from what follows it. */
function likePieces(pattern: string, escape_: string): Piece[] {
  const pieces: Piece[] = [];
  let text = '';
  const flush = (): void => {
    if (text !== '') pieces.push({ kind: 'text', text });
    text = '';
  };
  let isEscaped = false;
  for (const character of pattern) {
    if (isEscaped || (character !== escape_ && character !== '%' && character !== '_')) {
      text += character;
      isEscaped = false;
    } else if (character === escape_) isEscaped = true;
    else {
      flush();
      const isRepeated = character === '%' && pieces.at(-1)?.kind === 'any';
      if (!isRepeated) pieces.push({ kind: character === '%' ? 'any' : 'one' });
    }
  }
  if (isEscaped) throw sqlError(5010, `LIKE: Trailing escape character (${escape_}) in pattern`);
  flush();
  return pieces;
}

/** Tests texts against a LIKE pattern, in time that grows with both lengths at most. */
export function likePattern(pattern: string, escape_: string): (text: string) => boolean {
  const pieces = likePieces(pattern, escape_);
  const [first, second, third] = pieces;
  if (pieces.length === 0) return (text) => text === '';
  if (pieces.length === 1 && first?.kind === 'text') return (text) => text === first.text;
  if (pieces.length === 2 && first?.kind === 'text' && second?.kind === 'any')
    return (text) => text.startsWith(first.text);
  if (pieces.length === 2 && first?.kind === 'any' && second?.kind === 'text')
    return (text) => text.endsWith(second.text);
  if (pieces.length === 3 && first?.kind === 'any' && second?.kind === 'text' && third?.kind === 'any') {
    return (text) => text.includes(second.text);
  }
  const runs = runsOf(pieces);
  const [startsFree, endsFree] = [first?.kind === 'any', pieces.at(-1)?.kind === 'any'];
  return (text) => matchesRuns(text, runs, startsFree, endsFree);
}

/** What stands between the `%`: characters, null for any one. */
type Run = readonly (string | null)[];

function runsOf(pieces: readonly Piece[]): Run[] {
  const runs: (string | null)[][] = [[]];
  for (const piece of pieces) {
    if (piece.kind === 'any') runs.push([]);
    else if (piece.kind === 'one') runs.at(-1)?.push(null);
    else runs.at(-1)?.push(...piece.text);
  }
  return runs.filter((run) => run.length > 0);
}

function matchesRuns(text: string, runs: readonly Run[], startsFree: boolean, endsFree: boolean): boolean {
  const characters = [...text];
  let at = 0;
  for (let which = 0; which < runs.length; which++) {
    const run = runs[which] as Run;
    const isLast = which === runs.length - 1;
    if (which === 0 && !startsFree) {
      if (!runAt(characters, run, 0)) return false;
      at = run.length;
      if (isLast) return endsFree || at === characters.length;
      continue;
    }
    if (isLast && !endsFree) {
      const start = characters.length - run.length;
      return start >= at && runAt(characters, run, start);
    }
    while (at + run.length <= characters.length && !runAt(characters, run, at)) at++;
    if (at + run.length > characters.length) return false;
    at += run.length;
  }
  return true;
}

function runAt(characters: readonly string[], run: Run, start: number): boolean {
  if (start + run.length > characters.length) return false;
  return run.every((character, at) => character === null || character === characters[start + at]);
}

/** The text that everything matching a LIKE pattern begins with, and whether it is all of the pattern. */
export function likePrefix(
  pattern: string,
  escape_: string,
): { readonly prefix: string; readonly isWhole: boolean } {
  const [first, ...others] = likePieces(pattern, escape_);
  if (first === undefined) return { prefix: '', isWhole: true };
  if (first.kind !== 'text') return { prefix: '', isWhole: false };
  return { prefix: first.text, isWhole: others.length === 0 };
}

const patternMax = 10_000;

/** Compiles once while the pattern stays the same. Matching is global: callers set `lastIndex` or use methods that do. */
export function regularExpression(pattern: string, memo: Memo, isWhole = false): RegExp {
  const key = `${isWhole}${pattern}`;
  if (memo.key !== key) {
    memo.kept = compileRegularExpression(pattern, isWhole);
    memo.key = key;
  }
  const expression = memo.kept as RegExp;
  expression.lastIndex = 0;
  return expression;
}

export function compileRegularExpression(pattern: string, isWhole = false): RegExp {
  if (pattern.length > patternMax) {
    throw sqlError(5010, `regular expression: at most ${patternMax} characters, has ${pattern.length}`);
  }
  const { source, flags } = translate(pattern);
  try {
    return new RegExp(isWhole ? `^(?:${source})$` : source, `g${flags}`);
  } catch (error) {
    throw invalid(
      pattern,
      error instanceof Error ? error.message.replace(/^Invalid regular expression: /, '') : '',
    );
  }
}

function invalid(pattern: string, why: string): Error {
  return sqlError(5010, `regular expression \`${pattern.slice(0, 100)}\`: ${why}`);
}

/** RE2 to JavaScript: `(?i)` in front, `\\A`, `\\z`, `\\Q…\\E`, `(?P<name>`, `[[:alpha:]]`. */
function translate(pattern: string): { source: string; flags: string } {
  const leading = /^\(\?([imsU]+)\)/.exec(pattern);
  const flags = [...new Set((leading?.[1] ?? '').replace('U', ''))].join('');
  const isUnicode = /\\[pP]|\\x\{|[\u{10000}-\u{10ffff}]/u.test(pattern);
  let source = '';
  for (let at = leading?.[0].length ?? 0; at < pattern.length; ) {
    const [text, length] = pattern[at] === '[' ? classAt(pattern, at) : pieceAt(pattern, at);
    source += text;
    at += length;
  }
  return { source, flags: isUnicode ? `${flags}u` : flags };
}

type Translated = readonly [text: string, length: number];

/** Outside of classes. */
function pieceAt(pattern: string, at: number): Translated {
  if (pattern[at] === '\\') return escapeAt(pattern, at);
  if (pattern.startsWith('(?P<', at)) return ['(?<', 4];
  if (/^\(\?<?[=!]/.test(pattern.slice(at, at + 4))) throw invalid(pattern, 'look-around is not supported');
  return [pattern[at] as string, 1];
}

function escapeAt(pattern: string, at: number): Translated {
  const letter = pattern[at + 1] ?? '';
  if (/[1-9k]/.test(letter)) throw invalid(pattern, 'references back to groups are not supported');
  if (letter === 'Q') {
    const end = pattern.indexOf('\\E', at + 2);
    const text = pattern.slice(at + 2, end < 0 ? undefined : end);
    return [text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), text.length + (end < 0 ? 2 : 4)];
  }
  if (pattern.startsWith('\\x{', at)) return ['\\u', 2];
  const text = escapes[letter];
  return [text ?? pattern.slice(at, at + 2), 2];
}

const escapes: Readonly<Record<string, string>> = {
  A: '(?:^)',
  z: '(?:$)',
  a: '\\x07',
  C: '[\\s\\S]',
};

/** From its bracket to the closing one. */
function classAt(pattern: string, start: number): Translated {
  let at = start + 1;
  let source = '[';
  if (pattern[at] === '^') {
    source += '^';
    at++;
  }
  for (let isFirst = true; ; isFirst = false) {
    const character = pattern[at];
    if (character === undefined) throw invalid(pattern, 'a class is not closed');
    if (character === ']' && !isFirst) return [`${source}]`, at + 1 - start];
    const posix = /^\[:\^?\w+:\]/.exec(pattern.slice(at, at + 16))?.[0];
    if (posix !== undefined) {
      source += posixClass(pattern, posix);
      at += posix.length;
    } else if (character === '\\') {
      const [text, length] = escapeAt(pattern, at);
      source += text;
      at += length;
    } else {
      source += character === '[' || character === ']' ? `\\${character}` : character;
      at++;
    }
  }
}

const posixClasses: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7F',
  blank: '\\t ',
  cntrl: '\\x00-\\x1F\\x7F',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-\\/:-@\\[-`{-~',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
};

function posixClass(pattern: string, text: string): string {
  const found = posixClasses[text.slice(2, -2)];
  if (found === undefined) throw invalid(pattern, `the class ${text} is not known`);
  return found;
}

/** The text that every match begins with, and whether it is all of the expression. */
export function regularPrefix(pattern: string): { readonly prefix: string; readonly isWhole: boolean } {
  compileRegularExpression(pattern);
  const literal = /^(?:[^\\^$.*+?()[\]{}|]|\\[^A-Za-z0-9])*/.exec(pattern)?.[0] ?? '';
  const rest = pattern.slice(literal.length);
  // The last character belongs to what repeats it; with an alternative nothing is certain.
  const kept = /^[*?{]/.test(rest) ? literal.replace(/(?:\\?[\s\S])$/, '') : literal;
  if (pattern.includes('|')) return { prefix: '', isWhole: false };
  return { prefix: kept.replaceAll(/\\([\s\S])/g, '$1'), isWhole: rest === '' };
}

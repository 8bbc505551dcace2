// LIKE patterns.
import { sqlError } from '../errors/sql-error.ts';
import { countSteps, countText } from '../values/step-limit.ts';
import { characterBefore, includesText, TextSearch } from './text-search.ts';

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'any' };

/** The counted characters of texts for a character of a pattern: it may become a piece of its own. */
const patternSteps = 8;

/** Characters, `_` for any one, `%` for any number; `escape` makes the next character literal. */
function likePieces(pattern: string, escaping: string): Piece[] {
  countText(patternSteps * pattern.length);
  const pieces: Piece[] = [];
  let text = '';
  const flush = (): void => {
    if (text !== '') pieces.push({ kind: 'text', text });
    text = '';
  };
  let isEscaped = false;
  for (const character of pattern) {
    if (isEscaped || (character !== escaping && character !== '%' && character !== '_')) {
      text += character;
      isEscaped = false;
    } else if (character === escaping) isEscaped = true;
    else {
      flush();
      const isRepeated = character === '%' && pieces.at(-1)?.kind === 'any';
      if (!isRepeated) pieces.push({ kind: character === '%' ? 'any' : 'one' });
    }
  }
  if (isEscaped) throw sqlError(5010, `LIKE: Trailing escape character (${escaping}) in pattern`);
  flush();
  return pieces;
}

/** The character after ESCAPE. @throws {SqlError} 5010 for none or several */
export function escapeCharacter(text: string): string {
  if ([...text].length !== 1) throw sqlError(5010, 'LIKE: ESCAPE must be a single character');
  return text;
}

/** Tests texts against a LIKE pattern. Where that takes the product of both lengths, its steps are counted. */
export function likePattern(pattern: string, escaping: string): (text: string) => boolean {
  const pieces = likePieces(pattern, escaping);
  const [first, second, third] = pieces;
  if (pieces.length === 0) return (text) => text === '';
  if (pieces.length === 1 && first?.kind === 'text') return (text) => text === first.text;
  if (pieces.length === 2 && first?.kind === 'text' && second?.kind === 'any')
    return (text) => text.startsWith(first.text);
  if (pieces.length === 2 && first?.kind === 'any' && second?.kind === 'text')
    return (text) => text.endsWith(second.text);
  if (pieces.length === 3 && first?.kind === 'any' && second?.kind === 'text' && third?.kind === 'any') {
    return (text) => includesText(text, second.text);
  }
  const runs = runsOf(pieces);
  const [startsFree, endsFree] = [first?.kind === 'any', pieces.at(-1)?.kind === 'any'];
  return (text) => matchesRuns(text, runs, startsFree, endsFree);
}

/** A part between `%`. */
type Run = readonly (Extract<Piece, { kind: 'text' }> | Extract<Piece, { kind: 'one' }>)[];

function runsOf(pieces: readonly Piece[]): Run[] {
  const runs: Run[number][][] = [[]];
  for (const piece of pieces) {
    if (piece.kind === 'any') runs.push([]);
    else runs.at(-1)?.push(piece);
  }
  return runs.filter((run) => run.length > 0);
}

function matchesRuns(text: string, runs: readonly Run[], startsFree: boolean, endsFree: boolean): boolean {
  let at = 0;
  for (let which = 0; which < runs.length; which++) {
    const run = runs[which] as Run;
    const isLast = which === runs.length - 1;
    const isAnchored = which === 0 && !startsFree;
    if (isLast && !endsFree && !isAnchored) return startOf(text, run) >= at;
    at = isAnchored ? endOf(text, run, 0) : endOfFirst(text, run, at);
    if (at < 0) return false;
    if (isAnchored && isLast) return endsFree || at === text.length;
  }
  return true;
}

/** Where the first match of the run from a position on ends; -1 without one. */
function endOfFirst(text: string, run: Run, from: number): number {
  const [first] = run;
  const search = first?.kind === 'text' ? new TextSearch(first.text, text.length - from) : null;
  for (let at = from; at < text.length; at++) {
    if (search !== null) at = search.find(text, at);
    if (at < 0) return -1;
    const end = endOf(text, run, at);
    if (end >= 0) return end;
  }
  return -1;
}

/** Where the match of the run at this position ends; -1 if it does not match there. */
function endOf(text: string, run: Run, start: number): number {
  let at = start;
  for (const piece of run) {
    countComparison(piece);
    if (piece.kind === 'text') {
      if (!text.startsWith(piece.text, at)) return -1;
      at += piece.text.length;
    } else {
      if (at >= text.length) return -1;
      at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
    }
  }
  return at;
}

/** Where the match of the run at the end of the text starts; -1 if it does not match there. */
function startOf(text: string, run: Run): number {
  let at = text.length;
  for (const piece of run.toReversed()) {
    countComparison(piece);
    if (piece.kind === 'text') {
      if (!text.endsWith(piece.text, at)) return -1;
      at -= piece.text.length;
    } else {
      if (at <= 0) return -1;
      at -= characterBefore(text, at).length;
    }
  }
  return at;
}

/** Sixteen characters are compared in the time of one step. */
function countComparison(piece: Run[number]): void {
  countSteps(piece.kind === 'text' ? 1 + (piece.text.length >>> 4) : 1);
}

/** The literal prefix of a LIKE pattern, and whether it is the whole pattern. */
export function likePrefix(
  pattern: string,
  escaping: string,
): { readonly prefix: string; readonly isWhole: boolean } {
  const [first, ...others] = likePieces(pattern, escaping);
  if (first === undefined) return { prefix: '', isWhole: true };
  if (first.kind !== 'text') return { prefix: '', isWhole: false };
  return { prefix: first.text, isWhole: others.length === 0 };
}

/** The part of a LIKE pattern from its first literal character on. */
export function likeSuffix(pattern: string, escaping: string): string {
  likePieces(pattern, escaping); // refuses a pattern that ends with the escape character
  let at = 0;
  while (at < pattern.length && isWildcard(pattern.charAt(at)) && pattern.charAt(at) !== escaping) at++;
  return pattern.slice(at);
}

const isWildcard = (character: string): boolean => character === '%' || character === '_';

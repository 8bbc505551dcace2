// LIKE patterns.
import { sqlError } from '../errors/sql-error.ts';

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'any' };

/** Characters, `_` for any one, `%` for any number; `escape` makes the next character literal. */
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

/** The character behind ESCAPE. @throws {SqlError} 5010 for another number of them */
export function escapeCharacter(text: string): string {
  if ([...text].length !== 1) throw sqlError(5010, 'LIKE: ESCAPE must be a single character');
  return text;
}

/** Tests texts against a LIKE pattern in time bounded by the product of both lengths. */
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

/** A part between `%`: its characters; null matches any character. */
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

/** The literal prefix of a LIKE pattern, and whether it is the whole pattern. */
export function likePrefix(
  pattern: string,
  escape_: string,
): { readonly prefix: string; readonly isWhole: boolean } {
  const [first, ...others] = likePieces(pattern, escape_);
  if (first === undefined) return { prefix: '', isWhole: true };
  if (first.kind !== 'text') return { prefix: '', isWhole: false };
  return { prefix: first.text, isWhole: others.length === 0 };
}

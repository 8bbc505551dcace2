// Regular expressions in the syntax of RE2, matched in time linear in the text. V8's regular expressions
// backtrack: `(a+)+$` over forty characters would block every statement of the thread.
import { RE2JS } from 're2js';
import { sqlError } from '../errors/sql-error.ts';
import { countSteps, writtenSteps } from '../values/step-limit.ts';
import { countMatching } from './counted-matching.ts';
import type { Memo } from './declaration.ts';

const patternMax = 10_000;
/** The most instructions of a compiled pattern: nested repetitions multiply them. */
const instructionsMax = 50_000;

interface Match {
  readonly text: string;
  /** Positions in UTF-16 units. */
  readonly start: number;
  readonly end: number;
}

export class RegularExpression {
  private readonly compiled: RE2JS;

  /** @throws SqlError 5010 for a pattern that RE2 does not accept, or that is too long */
  constructor(pattern: string) {
    if (pattern.length > patternMax)
      throw sqlError(5010, `regular expression: at most ${patternMax} characters, has ${pattern.length}`);
    try {
      this.compiled = RE2JS.compile(pattern);
    } catch (error) {
      const reason = (error as Error).message.replace(/^error parsing regexp: /, '');
      throw sqlError(5010, `regular expression \`${pattern.slice(0, 100)}\`: ${reason}`);
    }
    countMatching(this.compiled);
    const instructions = this.compiled.programSize();
    if (instructions > instructionsMax)
      throw sqlError(
        5010,
        `regular expression: at most ${instructionsMax} instructions, has ${instructions}`,
      );
  }

  /** Whether a part of the text matches. */
  test(text: string): boolean {
    return this.compiled.test(text);
  }

  /** Whether the whole text matches. */
  matchesWhole(text: string): boolean {
    return this.compiled.testExact(text);
  }

  /** Where the first match begins, in UTF-16 units; -1 without one. */
  search(text: string): number {
    const matcher = this.compiled.matcher(text);
    return matcher.find() ? matcher.start() : -1;
  }

  /** Successive matches; an empty match next to the previous one does not count, as in Go. */
  *matches(text: string): Generator<Match> {
    const matcher = this.compiled.matcher(text);
    let before = -1;
    while (matcher.find()) {
      const [start, end] = [matcher.start(), matcher.end()];
      if (start === end && start === before) continue;
      before = end;
      countSteps(writtenSteps);
      yield { text: text.slice(start, end), start, end };
    }
  }
}

/** Compiles once while the pattern stays the same. */
export function regularExpression(pattern: string, memo: Memo): RegularExpression {
  if (memo.key !== pattern) {
    memo.value = new RegularExpression(pattern);
    memo.key = pattern;
  }
  return memo.value as RegularExpression;
}

/** The literal prefix of every match, and whether it is the whole expression. */
export function regularPrefix(pattern: string): { readonly prefix: string; readonly isWhole: boolean } {
  new RegularExpression(pattern);
  const literal = /^(?:[^\\^$.*+?()[\]{}|]|\\[^A-Za-z0-9])*/.exec(pattern)?.[0] ?? '';
  const rest = pattern.slice(literal.length);
  // A repetition applies to the last character; an alternative has no common prefix.
  const prefix = /^[*?{]/.test(rest) ? literal.replace(/\\?[\s\S]$/u, '') : literal;
  if (pattern.includes('|')) return { prefix: '', isWhole: false };
  return { prefix: prefix.replaceAll(/\\([\s\S])/g, '$1'), isWhole: rest === '' };
}

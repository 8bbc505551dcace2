// A regular expression of a filter: run by RE2, whose time is linear in the text, also with lookbehind. RE2 has no lookahead, so an
// expression with lookahead is mirrored: lookahead becomes lookbehind, and the reversed text is searched.
import { RE2JS } from 're2js';
import { FilterError } from './filter-error.ts';
import { MirrorError, mirroredPattern, mirroredText } from './mirrored-pattern.ts';

/** `size`: instructions of the compiled expression. */
export const patternLimits = { characters: 1_000, size: 1_000 } as const;

/** The most instructions of an expression times characters of a text: a search takes about 0.2 seconds then. */
const workMax = 10_000_000;
/** With lookahead or lookbehind RE2 does more for each character. */
const workMaxWithLookaround = workMax / 8;

export class TextPattern {
  /** The most characters of a text: the search of a longer one would take too long. */
  readonly textMax: number;
  private readonly expression: RE2JS;
  private readonly isMirrored: boolean;

  /** @throws FilterError; `at` is the position of the expression in the filter */
  constructor(pattern: string, at: number) {
    const { characters, size } = patternLimits;
    if (pattern.length > characters)
      throw new FilterError(at, `a regular expression has at most ${characters} characters`);
    this.isMirrored = /\(\?[=!]/.test(pattern);
    const hasLookaround = this.isMirrored || /\(\?<[=!]/.test(pattern);
    this.expression = compiled(this.isMirrored ? mirrored(pattern, at) : pattern, hasLookaround, at);
    if (this.expression.programSize() > size)
      throw new FilterError(at, 'the regular expression has too many repetitions; make their counts smaller');
    this.textMax = (hasLookaround ? workMaxWithLookaround : workMax) / this.expression.programSize();
  }

  test(text: string): boolean {
    return this.expression.test(this.isMirrored ? mirroredText(text) : text);
  }
}

function mirrored(pattern: string, at: number): string {
  try {
    return mirroredPattern(pattern);
  } catch (error) {
    if (error instanceof MirrorError) throw new FilterError(at, `regular expression: ${error.message}`);
    throw error;
  }
}

function compiled(pattern: string, hasLookaround: boolean, at: number): RE2JS {
  try {
    return RE2JS.compile(pattern, hasLookaround ? RE2JS.LOOKBEHINDS : 0);
  } catch (error) {
    throw new FilterError(
      at,
      (error as Error).message.replace(/^error parsing regexp: /, 'regular expression: '),
    );
  }
}

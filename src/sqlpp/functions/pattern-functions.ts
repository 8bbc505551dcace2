// Functions of regular expressions and of LIKE patterns.
import { sqlError } from '../errors/sql-error.ts';
import { integerOf } from '../values/integer-value.ts';
import type { Value } from '../values/value.ts';
import { byteOffset } from './bytes.ts';
import { Declarations, type Implementation, type Memo } from './declaration.ts';
import { escapeCharacter, likePrefix, likeSuffix } from './like-patterns.ts';
import { type RegularExpression, regularExpression, regularPrefix } from './regular-expressions.ts';
import { textMax } from './strings.ts';
import { TextParts } from './text-parts.ts';

const synonyms = (...list: string[]): { synonyms: string[] } => ({ synonyms: list });

const matching =
  (compute: (text: string, expression: RegularExpression) => Value): Implementation =>
  ([text, pattern], _, memo: Memo) =>
    typeof text === 'string' && typeof pattern === 'string'
      ? compute(text, regularExpression(pattern, memo))
      : null;

const position = (from: number): Implementation =>
  matching((text, expression) => {
    const at = expression.search(text);
    return at < 0 ? -1 : byteOffset(text, at) + from;
  });

const replace: Implementation = ([text, pattern, by, count], _, memo) => {
  if (typeof text !== 'string' || typeof pattern !== 'string' || typeof by !== 'string') return null;
  const wanted = count === undefined ? Infinity : integerOf(count);
  if (wanted === undefined) return null;
  let left = wanted;
  const replaced = new TextParts();
  let at = 0;
  for (const { start, end } of regularExpression(pattern, memo).matches(text)) {
    if (left-- <= 0) break;
    replaced.add(text.slice(at, start) + by);
    if (replaced.length > textMax) throw sqlError(5035, 'REGEXP_REPLACE()');
    at = end;
  }
  return replaced.text() + text.slice(at);
};

const matches = matching((text, expression) => Array.from(expression.matches(text), (match) => match.text));

const split = matching((text, expression) => {
  const parts: string[] = [];
  let start = 0;
  for (const match of expression.matches(text)) {
    parts.push(text.slice(start, match.start));
    start = match.end;
  }
  if (parts.length === 0) return [];
  return start < text.length ? [...parts, text.slice(start)] : parts;
});

/** The lowest value after all strings with this prefix; without wildcards (`isWhole`), after the only string that matches. */
function stopOf({ prefix, isWhole }: { readonly prefix: string; readonly isWhole: boolean }): Value {
  if (isWhole) return `${prefix}\0`;
  const last = prefix.codePointAt(prefix.length - 1);
  // From U+D7FF on, where surrogates follow: an empty array, which collates after all strings.
  if (last === undefined || last >= 0xd7ff) return [];
  return prefix.slice(0, -1) + String.fromCodePoint(last + 1);
}

const ofLike =
  (compute: (pattern: string, escaping: string) => Value): Implementation =>
  ([pattern, escaping = '\\']) => {
    if (typeof pattern !== 'string' || typeof escaping !== 'string') return null;
    return compute(pattern, escapeCharacter(escaping));
  };

const ofRegular =
  (compute: (pattern: string) => Value): Implementation =>
  ([pattern]) =>
    typeof pattern === 'string' ? compute(pattern) : null;

/** The search compiles each suffix of the pattern, in quadratic time. */
const suffixPatternMax = 1000;

function regularSuffix(pattern: string): string {
  if (pattern.length > suffixPatternMax) throw sqlError(5035, 'REGEXP_SUFFIX()');
  for (let rest = pattern; rest !== ''; rest = rest.slice(1))
    if (regularPrefix(rest).prefix !== '') return rest;
  return '';
}

export const patterns = new Declarations('pattern')
  .add(
    'regexp_contains',
    'string, pattern',
    'Whether part of the string matches.',
    matching((text, expression) => expression.test(text)),
    synonyms('regex_contains', 'contains_regex', 'contains_regexp'),
  )
  .add(
    'regexp_like',
    'string, pattern',
    'Whether the whole string matches.',
    matching((text, expression) => expression.matchesWhole(text)),
    synonyms('regex_like'),
  )
  .add(
    'regexp_position',
    'string, pattern',
    'The position of the first match, from 0; -1 without one.',
    position(0),
    synonyms(
      'regexp_pos',
      'regexp_position0',
      'regexp_pos0',
      'regex_position',
      'regex_pos',
      'regex_position0',
      'regex_pos0',
    ),
  )
  .add(
    'regexp_position1',
    'string, pattern',
    'The position of the first match, from 1; -1 without one.',
    position(1),
    synonyms('regexp_pos1', 'regex_position1', 'regex_pos1'),
  )
  .add(
    'regexp_replace',
    'string, pattern, by [, count]',
    'The string with all matches, or the first `count`, replaced.',
    replace,
    synonyms('regex_replace'),
  )
  .add('regexp_matches', 'string, pattern', 'All matches.', matches)
  .add('regexp_split', 'string, pattern', 'The parts between matches.', split)
  .add(
    'regexp_prefix',
    'pattern',
    'The text that every match begins with.',
    ofRegular((pattern) => regularPrefix(pattern).prefix),
  )
  .add(
    'regexp_stop',
    'pattern',
    'A value that collates after all strings that can match.',
    ofRegular((pattern) => stopOf(regularPrefix(pattern))),
  )
  .add(
    'regexp_suffix',
    'pattern',
    'The pattern from its first literal character on.',
    ofRegular(regularSuffix),
  )
  .add(
    'like_prefix',
    'pattern [, escape]',
    'The text that every match begins with.',
    ofLike((pattern, escaping) => likePrefix(pattern, escaping).prefix),
  )
  .add(
    'like_stop',
    'pattern [, escape]',
    'A value that collates after all strings that can match.',
    ofLike((pattern, escaping) => stopOf(likePrefix(pattern, escaping))),
  )
  .add(
    'like_suffix',
    'pattern [, escape]',
    'The pattern from its first literal character on.',
    ofLike(likeSuffix),
  );

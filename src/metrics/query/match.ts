// Decides whether labels satisfy label matchers. A label that is absent counts as empty.
import type { Labels, Matcher } from '../sample.ts';

type Test = (labels: Labels) => boolean;

const patternLengthMax = 256;
/**
 * The limit of repetitions, optional parts and groups, which multiply the ways in which a regular expression backtracks. Over values of
 * bounded length these few take bounded time; a repeated group would not.
 */
const choicesMax = 2;

export function testOf(matchers: readonly Matcher[]): Test {
  const tests = matchers.map(testOfOne);
  return (labels) => tests.every((test) => test(labels));
}

function testOfOne({ label, operator, value }: Matcher): Test {
  // Only own members: every object inherits others, such as `constructor`.
  const labelValue = (labels: Labels) => (Object.hasOwn(labels, label) ? (labels[label] ?? '') : '');
  if (operator === '=') return (labels) => labelValue(labels) === value;
  if (operator === '!=') return (labels) => labelValue(labels) !== value;
  const pattern = compiled(value);
  return (labels) => pattern.test(labelValue(labels)) === (operator === '=~');
}

const compiled = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`, 's');

/** The problem with a pattern from a client; null if it may be used. */
export function patternProblem(pattern: string): string | null {
  if (pattern.length > patternLengthMax) return `patterns have at most ${patternLengthMax} characters`;
  const bare = pattern.replace(/\\[^0-9k]/g, '').replace(/\[[^\]]*\]/g, '');
  if (/\)[*+?{]|\(\?(?!:)|\\/.test(bare))
    return 'patterns may not contain repeated groups, back-references or look-around';
  if (choicesIn(bare) > choicesMax)
    return `patterns have at most ${choicesMax} repetitions, optional parts and groups together`;
  try {
    compiled(pattern);
    return null;
  } catch {
    return 'not a valid pattern';
  }
}

/** A question mark that makes a repetition lazy or opens a non-capturing group adds no choice. */
const choicesIn = (bare: string): number =>
  (
    bare
      .replace(/\(\?:/g, '(')
      .replace(/([*+?}])\?/g, '$1')
      .match(/[*+{?(]/g) ?? []
  ).length;

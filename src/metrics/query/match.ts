// Whether labels meet conditions. A label that is not there is empty.
import type { Labels, Matcher } from '../sample.ts';

type Test = (labels: Labels) => boolean;

const patternLimit = 256;
/**
 * Each of these multiplies the ways in which a value can be taken apart: so few, over values of a bounded length, cannot hold
 * up the thread; a repeated group could.
 */
const choicesLimit = 2;

export function testOf(matchers: readonly Matcher[]): Test {
  const tests = matchers.map(testOfOne);
  return (labels) => tests.every((test) => test(labels));
}

function testOfOne({ label, operator, value }: Matcher): Test {
  const labelValue = (labels: Labels) => labels[label] ?? '';
  if (operator === '=') return (labels) => labelValue(labels) === value;
  if (operator === '!=') return (labels) => labelValue(labels) !== value;
  const pattern = compiled(value);
  return (labels) => pattern.test(labelValue(labels)) === (operator === '=~');
}

const compiled = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`, 's');

/** What is wrong with a pattern that a client sent; null when it may be used. */
export function patternProblem(pattern: string): string | null {
  if (pattern.length > patternLimit) return `patterns have at most ${patternLimit} characters`;
  const bare = pattern.replace(/\\[^0-9k]/g, '').replace(/\[[^\]]*\]/g, '');
  if (/\)[*+?{]|\(\?(?!:)|\\/.test(bare))
    return 'patterns have no repeated groups, references or looks around';
  if (choicesIn(bare) > choicesLimit)
    return `patterns have at most ${choicesLimit} repetitions, optional parts and groups together`;
  try {
    compiled(pattern);
    return null;
  } catch {
    return 'not a pattern';
  }
}

/** A question mark that makes a repetition lazy, or opens a group without a number, is no choice of its own. */
const choicesIn = (bare: string): number =>
  (
    bare
      .replace(/\(\?:/g, '(')
      .replace(/([*+?}])\?/g, '$1')
      .match(/[*+{?(]/g) ?? []
  ).length;

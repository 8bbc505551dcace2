// Functions that split all texts of a value into words.

import { resultOf, type WorkSteps } from '#base/steps.ts';
import { collate } from '../values/collation.ts';
import { identityOf } from '../values/identity.ts';
import { countSteps, writtenSteps } from '../values/step-limit.ts';
import { isArray, isObject } from '../values/types.ts';
import type { Value, ValueObject } from '../values/value.ts';
import { mayBeLong } from './array-star.ts';
import { Declarations, type Implementation, type StepsOf } from './declaration.ts';
import { lowerCase, upperCase } from './letter-case.ts';
import { likePattern } from './like-patterns.ts';
import { regularExpression } from './regular-expressions.ts';
import { characterBefore } from './text-search.ts';

interface Options {
  readonly fold: (word: string) => string;
  /** False: a whole text is one token, without white space around it if `trims`. */
  readonly splits: boolean;
  readonly trims: boolean;
  /** Also words with special characters, such as mail addresses. */
  readonly specials: boolean;
  /** Also words of member names. */
  readonly names: boolean;
}

function optionsOf(value: ValueObject = {}): Options {
  const { case: folding, split, trim, specials, names } = value;
  const kind = typeof folding === 'string' ? folding.toLowerCase() : '';
  return {
    fold: kind === 'lower' ? lowerCase : kind === 'upper' ? upperCase : (word) => word,
    splits: split !== false,
    trims: trim !== false,
    specials: specials === true,
    names: names !== false,
  };
}

function* wordsOf(text: string, options: Options): Iterable<string> {
  if (!options.splits) {
    yield options.fold(options.trims ? text.trim() : text);
    return;
  }
  for (const [word] of text.matchAll(/[\p{L}\p{N}]+/gu)) {
    countSteps(writtenSteps);
    yield options.fold(word);
  }
  if (!options.specials) return;
  for (const [part] of text.matchAll(/[^\s()[\]{}]+/gu)) {
    countSteps(writtenSteps);
    const trimmed = part.slice(0, endOfWords(part));
    if (trimmed !== '') yield options.fold(trimmed);
  }
}

/** Where the last letter or digit ends. `/[^\p{L}\p{N}]+$/u` would take quadratic time: it would be tried from every character. */
function endOfWords(part: string): number {
  let end = part.length;
  while (end > 0) {
    const last = characterBefore(part, end);
    if (/[\p{L}\p{N}]/u.test(last)) break;
    end -= last.length;
  }
  return end;
}

/** The steps that are counted for each value, nested ones included: a generator is made for each. */
const visitedSteps = 32;

/** Words of strings and names; other values unchanged. */
function* tokensOf(value: Value, options: Options): Iterable<Value> {
  countSteps(visitedSteps);
  if (typeof value === 'string') yield* wordsOf(value, options);
  else if (isArray(value)) for (const item of value) yield* tokensOf(item, options);
  else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      if (options.names) yield* wordsOf(name, options);
      yield* tokensOf(value[name], options);
    }
  } else if (value !== undefined) yield value;
}

const tokens: Implementation = (given) => {
  const [value, sentOptions] = given;
  if (value === undefined || (given.length > 1 && sentOptions === undefined)) return undefined;
  if (sentOptions !== undefined && !isObject(sentOptions)) return null;
  return resultOf(tokensInSteps(value, sentOptions));
};

const tokensSteps: StepsOf = (given) => {
  const [value, options] = given;
  if (!mayBeLong(value) || (given.length > 1 && !isObject(options))) return null;
  return tokensInSteps(value, options as ValueObject | undefined);
};

/** How many tokens are collected before the work may pause. */
const tokensAtOnce = 512;
/** The steps that are counted for a token of the result: its text and its place in the set take about a hundred bytes. */
const newTokenSteps = 32;

function* tokensInSteps(value: Value, options: ValueObject | undefined): WorkSteps<Value> {
  const found = new Map<string, Value>();
  let left = tokensAtOnce;
  for (const token of tokensOf(value, optionsOf(options))) {
    const identity = identityOf(token);
    if (!found.has(identity)) countSteps(newTokenSteps);
    found.set(identity, token);
    if (--left > 0) continue;
    left = tokensAtOnce;
    yield;
  }
  return [...found.values()];
}

const containing =
  (
    matcherOf: (searched: Value, memo: Parameters<Implementation>[2]) => ((token: Value) => boolean) | null,
  ): Implementation =>
  ([value, searched, sentOptions], _, memo) => {
    if (sentOptions !== undefined && !isObject(sentOptions)) return null;
    const matches = matcherOf(searched, memo);
    if (matches === null) return null;
    for (const token of tokensOf(value, optionsOf(sentOptions))) if (matches(token)) return true;
    return false;
  };

const ofText =
  (test: (text: string) => boolean) =>
  (token: Value): boolean =>
    typeof token === 'string' && test(token);

const synonyms = (...list: string[]): { synonyms: string[] } => ({ synonyms: list });

export const tokenFunctions = new Declarations('token')
  .add('tokens', 'value [, options]', 'All words and other scalars in the value, each once.', tokens, {
    nulls: 'own',
    steps: tokensSteps,
  })
  .add(
    'contains_token',
    'value, token [, options]',
    'Whether the token is among those of the value.',
    containing((searched) => (token) => collate(token, searched) === 0),
    synonyms('has_token'),
  )
  .add(
    'contains_token_like',
    'value, pattern [, options]',
    'Whether a token of the value matches the LIKE pattern.',
    containing((pattern) => (typeof pattern === 'string' ? ofText(likePattern(pattern, '\\')) : null)),
  )
  .add(
    'contains_token_regexp',
    'value, pattern [, options]',
    'Whether a token of the value matches the regular expression as a whole.',
    containing((pattern, memo) =>
      typeof pattern === 'string'
        ? ofText((text) => regularExpression(pattern, memo).matchesWhole(text))
        : null,
    ),
    synonyms('contains_token_regex'),
  );

// Paths into objects and arrays: `a.b[0]`, with options of what to list.
import { compareStrings, memberNames } from '../values/collation.ts';
import { countSteps, writtenSteps } from '../values/step-limit.ts';
import { isArray, isObject } from '../values/types.ts';
import { newObject, type Value, type ValueObject } from '../values/value.ts';
import type { Implementation } from './declaration.ts';
import { RegularExpression } from './regular-expressions.ts';

interface Options {
  readonly isUnique: boolean;
  /** Lists positions of arrays; else `[*]`. */
  readonly hasPositions: boolean;
  /**
   * OBJECT_PATHS: lists members of any kind instead of leaves. OBJECT_PAIRS_NESTED: lists objects and arrays that are members, besides leaves.
   * OBJECT_FILTER: keeps a matching member whole; else only matching leaves.
   */
  readonly composites: boolean;
  /** The notation of index keys. */
  readonly isIndex: boolean;
  readonly matches: (path: string) => boolean;
}

function optionsOf(value: ValueObject | undefined, composites: boolean): Options {
  const flag = (name: string, otherwise: boolean): boolean =>
    typeof value?.[name] === 'boolean' ? (value[name] as boolean) : otherwise;
  const isIndex = flag('index', false);
  return {
    isUnique: flag('unique', true),
    hasPositions: flag('arraysubscript', true) && !isIndex,
    composites: flag('composites', composites) && !isIndex,
    isIndex,
    matches: matcherOf(value),
  };
}

function matcherOf(value: ValueObject | undefined): (path: string) => boolean {
  const pattern = value?.['pattern'];
  if (typeof pattern !== 'string' || pattern === '') return () => true;
  const isLiteral = value?.['regex'] === false;
  const expression = new RegularExpression(
    isLiteral ? pattern.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&') : pattern,
  );
  const test = (text: string): boolean => expression.test(text);
  if (value?.['patternspace'] !== 'field') return test;
  return (path) => (path.match(/(?:`[^`]*`|[^.`])+/g) ?? []).some(test);
}

function nameText(name: string, isIndex: boolean): string {
  return isIndex || /[ \t.`]/.test(name) ? `\`${name.replaceAll('`', '\\u0060')}\`` : name;
}

/** The steps that are counted for a listed path: its text and its place in the result take more than a hundred bytes. */
const foundSteps = 64;

/**
 * Calls `visit` with the path of every member and every value that is neither array nor object. `isStarred`: the value is an item of an array
 * that the path shows as `[*]`.
 */
function walk(
  value: Value,
  options: Options,
  visit: (path: string, value: Value, isMember: boolean) => void,
  prefix = '',
  isStarred = false,
): void {
  countSteps(writtenSteps);
  if (isArray(value)) {
    value.forEach((item, at) => {
      if (options.hasPositions) walk(item, options, visit, `${prefix}[${at}]`, false);
      else walk(item, options, visit, prefix, true);
    });
  } else if (isObject(value)) {
    const star = isStarred ? (options.isIndex ? '[]' : '[*]') : '';
    const start = prefix === '' ? '' : `${prefix}${star}.`;
    for (const name of memberNames(value)) {
      const path = start + nameText(name, options.isIndex);
      visit(path, value[name], true);
      walk(value[name], options, visit, path, isStarred && !options.hasPositions);
    }
  } else visit(prefix, value, false);
}

const isComposite = (value: Value): boolean => isArray(value) || isObject(value);

export const paths: Implementation = ([value, sentOptions]) => {
  if (!isComposite(value) || (sentOptions !== undefined && !isObject(sentOptions))) return null;
  const options = optionsOf(sentOptions, true);
  const found: string[] = [];
  walk(value, options, (path, _, isMember) => {
    if (isMember !== options.composites || !options.matches(path)) return;
    countSteps(foundSteps);
    found.push(path);
  });
  found.sort(compareStrings);
  return options.isUnique ? [...new Set(found)] : found;
};

export const pairsNested: Implementation = ([value, sentOptions]) => {
  if (!isComposite(value) || (sentOptions !== undefined && !isObject(sentOptions))) return null;
  const options = { ...optionsOf(sentOptions, false), hasPositions: true };
  const found: { path: string; value: Value }[] = [];
  const text = options.isIndex
    ? (path: string): string => path.replaceAll(/\[\d+\]/g, '[]')
    : (path: string): string => path;
  walk(value, options, (path, member, isMember) => {
    const isWanted = !isMember || (options.composites && isComposite(member));
    if (!isWanted || !options.matches(text(path))) return;
    countSteps(foundSteps);
    found.push({ path: text(path), value: member });
  });
  return found
    .sort((a, b) => compareStrings(a.path, b.path))
    .map((pair) => {
      const object = newObject();
      object['name'] = pair.path;
      object['val'] = pair.value ?? null;
      return object;
    });
};

export const filtered: Implementation = ([value, sentOptions]) => {
  if (!isComposite(value) || (sentOptions !== undefined && !isObject(sentOptions))) return null;
  const result = filter(value, optionsOf(sentOptions, true), '', false);
  return result === undefined ? null : result;
};

/** undefined if nothing remains of the value; a NULL that is not kept as part of a whole member is nothing. */
function filter(value: Value, options: Options, prefix: string, isStarred: boolean): Value {
  countSteps(writtenSteps);
  if (isArray(value)) {
    const items = value
      .map((item, at) =>
        filter(item, options, options.hasPositions ? `${prefix}[${at}]` : prefix, !options.hasPositions),
      )
      .filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  if (!isObject(value))
    return !options.composites && options.matches(prefix) ? (value ?? undefined) : undefined;
  const result = newObject();
  const start = prefix === '' ? '' : `${prefix}${isStarred ? '[*]' : ''}.`;
  for (const name of memberNames(value)) {
    const path = start + nameText(name, false);
    const isWhole = options.composites && options.matches(path);
    const filteredMember = isWhole
      ? value[name]
      : filter(value[name], options, path, isStarred && !options.hasPositions);
    if (filteredMember !== undefined) result[name] = filteredMember;
  }
  return Object.keys(result).length === 0 ? undefined : result;
}

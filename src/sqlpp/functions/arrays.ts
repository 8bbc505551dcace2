// Functions of arrays. Other arguments give NULL.
import { sortInSteps } from '#base/sort-steps.ts';
import type { WorkSteps } from '#base/steps.ts';
import { sqlError } from '../errors/sql-error.ts';
import { add, divide, subtract } from '../values/arithmetic.ts';
import { collate } from '../values/collation.ts';
import { equal } from '../values/comparison.ts';
import { finiteIntegerOf, integerOf } from '../values/integer-value.ts';
import { countSteps, listedSteps } from '../values/step-limit.ts';
import { isArray, isNumber } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import { arrayStar, mayBeLong } from './array-star.ts';
import { Declarations, type Implementation, type StepsOf } from './declaration.ts';
import { repeatMax } from './strings.ts';

type Items = readonly Value[];

const missing = { nulls: 'onlyMissing' } as const;

const ofArray =
  (compute: (items: Items) => Value): Implementation =>
  ([items]) =>
    isArray(items) ? compute(items) : null;

/** The other arguments are values, NULL among them. */
const withValues =
  (compute: (items: Items, values: Items) => Value): Implementation =>
  ([items, ...values]) =>
    isArray(items) ? compute(items, values) : null;

/** NULL as the second argument gives NULL. */
const withKnown =
  (compute: (items: Items, value: Value) => Value): Implementation =>
  ([items, value]) =>
    isArray(items) && value !== null ? compute(items, value) : null;

/** -1 if the array does not contain the value. */
function positionOf(items: Items, value: Value): number {
  const at = items.findIndex((item) => equal(value, item) === true);
  countSteps(at < 0 ? items.length : at);
  return at;
}

const has = (items: Items, value: Value): boolean => positionOf(items, value) >= 0;
const isKnown = (value: Value): boolean => value !== null && value !== undefined;

const isPresent = (item: Value): boolean => item !== undefined;

/** JavaScript sorts `undefined` to the end, whereas MISSING collates first. */
const afterMissing = (items: Items, sorted: Items): Items =>
  sorted.length === items.length
    ? sorted
    : [...new Array<Value>(items.length - sorted.length).fill(undefined), ...sorted];

const inCollationOrder = (items: Items): Items => afterMissing(items, items.filter(isPresent).sort(collate));

function* sortItemsInSteps(items: Items): WorkSteps<Value> {
  return afterMissing(items, yield* sortInSteps(items.filter(isPresent), collate));
}

const sortSteps: StepsOf = ([items]) => (isArray(items) && mayBeLong(items) ? sortItemsInSteps(items) : null);

const average = (items: Items): Value => {
  const numbers = items.filter(isNumber);
  return numbers.length === 0 ? null : divide(numbers.reduce<Value>(add, 0), numbers.length);
};

/** The steps that are counted for an item of an array that is flattened. */
const flattenedSteps = 2 * listedSteps;

function flattened(items: Items, depth: number, list: Value[] = []): Items {
  countSteps(flattenedSteps * items.length);
  for (const item of items) {
    if (isArray(item) && depth !== 0) flattened(item, depth - 1, list);
    else list.push(item);
  }
  return list;
}

const flatten: Implementation = ([items, levels]) => {
  const depth = integerOf(levels);
  return isArray(items) && depth !== undefined ? flattened(items, depth) : null;
};

const insert: Implementation = ([items, place, ...values]) => {
  const position = integerOf(place);
  if (!isArray(items) || position === undefined) return null;
  const at = position < 0 ? items.length + position : position;
  if (at < 0 || at > items.length) return null;
  return [...items.slice(0, at), ...values, ...items.slice(at)];
};

const prepend: Implementation = (values) => {
  const items = values.at(-1);
  return isArray(items) ? [...values.slice(0, -1), ...items] : null;
};

const extreme = (items: Items, sign: 1 | -1): Value => {
  let found: Value = null;
  for (const item of items) {
    if (isKnown(item) && (found === null || collate(item, found) * sign > 0)) found = item;
  }
  return found;
};

const range: Implementation = ([start, end, step = 1]) => {
  if (!isNumber(start) || !isNumber(end) || !isNumber(step)) return null;
  const isUp = step > 0;
  if (Number(step) === 0 || !(isUp ? start < end : start > end)) return [];
  if (!(Math.abs(Number(subtract(end, start))) / Math.abs(Number(step)) <= repeatMax))
    throw sqlError(5035, 'ARRAY_RANGE()');
  const items: Value[] = [];
  for (let value = start; isUp ? value < end : value > end; ) {
    items.push(value);
    const next = add(value, step) as number | bigint;
    // A step below the precision of large numbers leads nowhere.
    if (next === value) throw sqlError(5035, 'ARRAY_RANGE()');
    value = next;
  }
  return items;
};

const repeat: Implementation = ([value, number]) => {
  const count = finiteIntegerOf(number);
  if (count === undefined || count < 0) return null;
  if (count > repeatMax) throw sqlError(5035, 'ARRAY_REPEAT()');
  return new Array<Value>(count).fill(value);
};

/** Replaces all where the count is no positive integer. */
const replace: Implementation = ([items, searched, by, number]) => {
  if (items === undefined || searched === undefined || by === undefined) return undefined;
  if (!isArray(items) || searched === null) return null;
  const count = integerOf(number) ?? 0;
  let left = count > 0 ? count : Infinity;
  return items.map((item) => (equal(searched, item) === true && left-- > 0 ? by : item));
};

const remove = (items: Items, values: Items): Items => items.filter((item) => !has(values, item));

/** Appends the values that the array does not contain. */
const put = (items: Items, values: Items): Items => [
  ...items,
  ...values.filter((value) => !has(items, value)),
];

/** Two positions within the array, counted from the end if negative. */
function twoPositions(
  items: Value,
  one: Value,
  other: Value,
): readonly [items: Items, one: number, other: number] | null {
  const first = integerOf(one);
  const second = integerOf(other);
  if (!isArray(items) || first === undefined || second === undefined) return null;
  const { length } = items;
  if (first < -length || first >= length || second < -length || second >= length) return null;
  return [items, (first + length) % length, (second + length) % length];
}

const swap: Implementation = ([array, first, second]) => {
  const found = twoPositions(array, first, second);
  if (found === null) return null;
  const [items, from, to] = found;
  return items.with(from, items[to]).with(to, items[from]);
};

const move: Implementation = ([array, first, other]) => {
  const found = twoPositions(array, first, other);
  if (found === null) return null;
  const [items, from, to] = found;
  return items.toSpliced(from, 1).toSpliced(to, 0, items[from]);
};

const binarySearch: Implementation = ([items, value]) => {
  if (items === undefined) return undefined;
  if (!isArray(items)) return null;
  let low = 0;
  let high = items.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (collate(items[middle], value) < 0) low = middle + 1;
    else high = middle;
  }
  return items.length > 0 && collate(items[low], value) === 0 ? low : -1;
};

const containsAll = (items: Items, value: Value): boolean =>
  (isArray(value) ? value : [value]).every((item) => has(items, item));
const containsAny = (items: Items, value: Value): boolean =>
  (isArray(value) ? value : [value]).some((item) => has(items, item));

export const arrays = new Declarations('array')
  .add(
    'array_append',
    'array, value [, value …]',
    'The array with the values appended.',
    withValues((items, values) => [...items, ...values]),
    missing,
  )
  .add('array_avg', 'array', 'The average of the numbers; NULL without any.', ofArray(average))
  .add(
    'array_binary_search',
    'array, value',
    'The first position of the value in a sorted array, from 0; -1 if the array does not contain it.',
    binarySearch,
    { nulls: 'own' },
  )
  .add(
    'array_concat',
    'array, array [, array …]',
    'The arrays joined.',
    (values) => (values.every(isArray) ? (values as readonly Items[]).flat() : null),
    missing,
  )
  .add('array_contains', 'array, value', 'Whether the array has the value.', withKnown(has), missing)
  .add(
    'array_contains_all',
    'array, values',
    'Whether the array has each of the values.',
    withKnown(containsAll),
    missing,
  )
  .add(
    'array_contains_any',
    'array, values',
    'Whether the array has one of the values.',
    withKnown(containsAny),
    missing,
  )
  .add(
    'array_count',
    'array',
    'How many items are neither NULL nor MISSING.',
    ofArray((items) => items.filter(isKnown).length),
  )
  .add(
    'array_flatten',
    'array, depth',
    'The array with nested arrays replaced by their items, down to a depth; negative: all depths.',
    flatten,
  )
  .add(
    'array_ifnull',
    'array',
    'The first item that is neither NULL nor MISSING.',
    ofArray((items) => items.find(isKnown) ?? null),
  )
  .add(
    'array_insert',
    'array, position, value [, value …]',
    'The array with the values at a position, counted from the end if negative.',
    insert,
    missing,
  )
  .add(
    'array_length',
    'array',
    'How many items the array has.',
    ofArray((items) => items.length),
    { reads: 'length' },
  )
  .add(
    'array_max',
    'array',
    'The largest item.',
    ofArray((items) => extreme(items, 1)),
  )
  .add(
    'array_min',
    'array',
    'The smallest item that is neither NULL nor MISSING.',
    ofArray((items) => extreme(items, -1)),
  )
  .add('array_move', 'array, from, to', 'The array with the item of one position moved to another.', move)
  .add(
    'array_position',
    'array, value',
    'The first position of the value, from 0; -1 if the array does not contain it.',
    withKnown(positionOf),
    { nulls: 'onlyMissing', synonyms: ['array_pos'] },
  )
  .add(
    'array_prepend',
    'value [, value …], array',
    'The array with the values before its items.',
    prepend,
    missing,
  )
  .add(
    'array_put',
    'array, value [, value …]',
    'The array with those values appended that it does not contain.',
    withValues(put),
    { synonyms: ['array_add', 'array_upsert'] },
  )
  .add('array_range', 'start, end [, step]', 'The numbers from start to below end.', range)
  .add('array_remove', 'array, value [, value …]', 'The array without these values.', withValues(remove))
  .add('array_repeat', 'value, count', 'An array that contains the value `count` times.', repeat, missing)
  .add(
    'array_replace',
    'array, searched, by [, count]',
    'The array with one value replaced by another.',
    replace,
    { nulls: 'own' },
  )
  .add(
    'array_reverse',
    'array',
    'The array in reverse order.',
    ofArray((items) => items.toReversed()),
  )
  .add('array_sort', 'array', 'The array in collation order.', ofArray(inCollationOrder), {
    steps: sortSteps,
  })
  .add(
    'array_star',
    'array',
    'An object with an array for each member of the objects in the array, like `[*]`.',
    ([items]) => arrayStar(items),
  )
  .add(
    'array_sum',
    'array',
    'The sum of the numbers; 0 without any.',
    ofArray((items) => items.filter(isNumber).reduce<Value>(add, 0)),
  )
  .add(
    'array_swap',
    'array, position, position',
    'The array with the items of two positions exchanged.',
    swap,
  );

// Functions that treat arrays as sets: items that collate equal count once. Results have the order of first appearance.
import { mapInSteps, resultOf, type WorkSteps } from '#base/steps.ts';
import { shownIdentityOf } from '../values/identity.ts';
import { countSteps } from '../values/step-limit.ts';
import { isArray } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import { mayBeLong } from './array-star.ts';
import { Declarations, type Implementation, type StepsOf } from './declaration.ts';

type Items = readonly Value[];

const missing = { nulls: 'onlyMissing' } as const;

/** The steps that are counted for an item: its text and its place in a set take more than a hundred bytes. */
const setItemSteps = 64;

function countedIdentity(item: Value): string {
  countSteps(setItemSteps);
  return shownIdentityOf(item);
}

/** How many of the arrays have each item. */
function counts(arrays: readonly Items[]): { readonly value: Value; readonly count: number }[] {
  const found = new Map<string, { value: Value; count: number }>();
  for (const items of arrays) {
    for (const [identity, value] of new Map(items.map((item) => [countedIdentity(item), item]))) {
      const entry = found.get(identity) ?? { value, count: 0 };
      entry.count++;
      found.set(identity, entry);
    }
  }
  return [...found.values()];
}

const ofArrays =
  (compute: (arrays: readonly Items[]) => Value): Implementation =>
  (values) =>
    values.every(isArray) ? compute(values as readonly Items[]) : null;

const itemsWhere =
  (isWanted: (count: number, arrays: number) => boolean): Implementation =>
  (values, context, memo) =>
    ofArrays((arrays) =>
      counts(arrays)
        .filter(({ count }) => isWanted(count, arrays.length))
        .map(({ value }) => value),
    )(values, context, memo);

const intersect: Implementation = ofArrays((arrays) =>
  counts(arrays)
    .filter(({ value, count }) => count === arrays.length && value !== null && value !== undefined)
    .map(({ value }) => value),
);

const except: Implementation = ofArrays(([items = [], others = []]) => {
  const excluded = new Set(others.map(countedIdentity));
  return items.filter((item) => !excluded.has(countedIdentity(item)));
});

const distinctSteps: StepsOf = ([items]) =>
  isArray(items) && mayBeLong(items) ? distinctInSteps(items) : null;

function* distinctInSteps(items: Items): WorkSteps<Value> {
  const found = new Map<string, Value>();
  yield* mapInSteps(items, (item) => found.set(countedIdentity(item), item));
  return [...found.values()];
}

export const arraySets = new Declarations('array')
  .add(
    'array_distinct',
    'array',
    'The array without duplicate items.',
    ofArrays(([items = []]) => resultOf(distinctInSteps(items))),
    { ...missing, steps: distinctSteps },
  )
  .add(
    'array_except',
    'array, array',
    'The items of the first array that the second does not have.',
    except,
    missing,
  )
  .add('array_intersect', 'array, array [, array …]', 'The items that all arrays have.', intersect, missing)
  .add(
    'array_symdiff',
    'array, array [, array …]',
    'The items that exactly one array has.',
    itemsWhere((count) => count === 1),
    { nulls: 'onlyMissing', synonyms: ['array_symdiff1'] },
  )
  .add(
    'array_symdiffn',
    'array, array [, array …]',
    'The items that an odd number of arrays have.',
    itemsWhere((count) => count % 2 === 1),
    missing,
  )
  .add(
    'array_union',
    'array, array [, array …]',
    'The items that any array has.',
    itemsWhere(() => true),
    missing,
  );

// `[*]`: an object whose members are arrays of the items' members.
import { mapInSteps, resultOf, type WorkSteps } from '#base/steps.ts';
import { itemsOf, membersOf } from '../values/json-scan.ts';
import { countSteps, countText, listedSteps } from '../values/step-limit.ts';
import { isArray } from '../values/types.ts';
import { Binary, newObject, RawJson, type Value, type ValueObject } from '../values/value.ts';

/** The items of an array, parsed or not; undefined for other values. */
export function itemsOfValue(value: Value): readonly Value[] | undefined {
  if (value instanceof RawJson) {
    countText(value.end - value.start);
    return itemsOf(value);
  }
  return isArray(value) ? value : undefined;
}

/** Names and values of an object, parsed or not; empty for other values. */
export function membersOfValue(value: Value): [name: string, value: Value][] {
  if (value instanceof RawJson) {
    countText(value.end - value.start);
    return membersOf(value) ?? [];
  }
  if (typeof value !== 'object' || value === null || isArray(value) || value instanceof Binary) return [];
  const members = Object.entries(value as ValueObject);
  countSteps(listedSteps * members.length);
  return members;
}

/** Arrays with more items are long: functions of them run in steps, where the caller can wait. */
const shortItems = 512;
/** The members of an object that are looked at. */
const membersMax = 32;

/** Whether the value is a long array, or an object with such a member. Unparsed values count as long by their text. */
export function mayBeLong(value: Value): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Binary) return false;
  if (value instanceof RawJson) return value.end - value.start > 16 * shortItems;
  if (isArray(value)) return value.length > shortItems;
  let left = membersMax;
  for (const name in value as ValueObject) {
    const member = (value as ValueObject)[name];
    if (isArray(member) && member.length > shortItems) return true;
    if (--left === 0) return false;
  }
  return false;
}

export function arrayStar(value: Value): Value {
  return resultOf(arrayStarInSteps(value));
}

/** The steps that are counted for a member of an item: its place in a map takes more than fifty bytes. */
const memberSteps = 64;

export function* arrayStarInSteps(value: Value): WorkSteps<Value> {
  const items = itemsOfValue(value);
  if (items === undefined) return null;
  yield;
  const objects = yield* mapInSteps(items, (object) => {
    const members = membersOfValue(object);
    countSteps(memberSteps * members.length);
    return new Map(members);
  });
  const names = new Set<string>();
  yield* mapInSteps(objects, (object) => {
    for (const name of object.keys()) names.add(name);
  });
  const result = newObject();
  for (const name of names) {
    countSteps(2 * listedSteps * objects.length);
    result[name] = yield* mapInSteps(objects, (object) => object.get(name));
  }
  return result;
}

// `[*]`: an object whose members are arrays of the items' members.
import { itemsOf, membersOf } from '../values/json-scan.ts';
import { isArray } from '../values/types.ts';
import { Binary, newObject, RawJson, type Value, type ValueObject } from '../values/value.ts';

/** The items of an array, parsed or not; undefined for other values. */
export function itemsOfValue(value: Value): readonly Value[] | undefined {
  if (value instanceof RawJson) return itemsOf(value);
  return isArray(value) ? value : undefined;
}

/** Names and values of an object, parsed or not; empty for other values. */
export function membersOfValue(value: Value): [name: string, value: Value][] {
  if (value instanceof RawJson) return membersOf(value) ?? [];
  if (typeof value !== 'object' || value === null || isArray(value) || value instanceof Binary) return [];
  return Object.entries(value as ValueObject);
}

export function arrayStar(value: Value): Value {
  const items = itemsOfValue(value);
  if (items === undefined) return null;
  const objects = items.map((object) => new Map(membersOfValue(object)));
  const names = new Set(objects.flatMap((object) => [...object.keys()]));
  const result = newObject();
  for (const name of names) result[name] = objects.map((object) => object.get(name));
  return result;
}

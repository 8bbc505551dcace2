// Checks of the shape of JSON that was read from a file. The node does not load the schema library for them.

export class ShapeError extends Error {}

/** Throws a ShapeError that names the place. */
export type Shape = (value: unknown, place: string) => void;

const wrong = (place: string, expected: string): ShapeError =>
  new ShapeError(`${place || 'file'}: must be ${expected}`);
const fieldPath = (place: string, name: string | number): string =>
  place === '' ? String(name) : `${place}.${name}`;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const jsonField = {
  text:
    (pattern: RegExp): Shape =>
    (value, place) => {
      if (typeof value !== 'string' || !pattern.test(value))
        throw wrong(place, `a text that matches ${pattern}`);
    },
  /** Without a pattern, which needs memory for each character. */
  textUpTo:
    (max: number): Shape =>
    (value, place) => {
      if (typeof value !== 'string' || value.length === 0 || value.length > max)
        throw wrong(place, `a text of 1 to ${max} characters`);
    },
  count: ((value, place) => {
    if (!Number.isSafeInteger(value) || (value as number) < 0) throw wrong(place, 'an integer of 0 or more');
  }) as Shape,
  scalar: ((value, place) => {
    if (typeof value !== 'string' && !Number.isSafeInteger(value)) throw wrong(place, 'a text or an integer');
  }) as Shape,
  nullable:
    (shape: Shape): Shape =>
    (value, place) => {
      if (value !== null) shape(value, place);
    },
  optional:
    (shape: Shape): Shape =>
    (value, place) => {
      if (value !== undefined) shape(value, place);
    },
  pair:
    (first: Shape, second: Shape): Shape =>
    (value, place) => {
      if (!Array.isArray(value) || value.length !== 2) throw wrong(place, 'a list of two');
      first(value[0], fieldPath(place, 0));
      second(value[1], fieldPath(place, 1));
    },
  list:
    (max: number, item: Shape, min = 0): Shape =>
    (value, place) => {
      if (!Array.isArray(value) || value.length > max || value.length < min)
        throw wrong(place, `a list of ${min === max ? '' : 'at most '}${max} elements`);
      for (const [index, element] of value.entries()) item(element, fieldPath(place, index));
    },
  record:
    (item: Shape): Shape =>
    (value, place) => {
      if (!isObject(value)) throw wrong(place, 'an object');
      for (const [name, element] of Object.entries(value)) item(element, fieldPath(place, name));
    },
  object:
    (fields: Readonly<Record<string, Shape>>): Shape =>
    (value, place) => {
      if (!isObject(value)) throw wrong(place, 'an object');
      for (const [name, shape] of Object.entries(fields)) shape(value[name], fieldPath(place, name));
    },
} as const;

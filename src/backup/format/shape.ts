// Checks of the shape of JSON that was read from a file. The node does not load the schema library for them.

export class ShapeError extends Error {
  readonly place: string;
  readonly expected: string;

  constructor(place: string, expected: string) {
    super(`${place || 'file'}: must be ${expected}`);
    this.place = place;
    this.expected = expected;
  }
}

/** Throws a ShapeError that names the place. */
export type Shape = (value: unknown, place: string) => void;

const wrong = (place: string, expected: string): ShapeError => new ShapeError(place, expected);

/** Checks a part of the value at `place`. The path of the part is made for errors only: a manifest has ten thousand parts. */
function checkPart(shape: Shape, part: unknown, place: string, name: string | number): void {
  try {
    shape(part, '');
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw wrong([place, String(name), error.place].filter((path) => path !== '').join('.'), error.expected);
  }
}

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
      checkPart(first, value[0], place, 0);
      checkPart(second, value[1], place, 1);
    },
  list:
    (max: number, item: Shape, min = 0): Shape =>
    (value, place) => {
      if (!Array.isArray(value) || value.length > max || value.length < min)
        throw wrong(place, `a list of ${min === max ? '' : 'at most '}${max} elements`);
      for (let index = 0; index < value.length; index++) checkPart(item, value[index], place, index);
    },
  record:
    (item: Shape): Shape =>
    (value, place) => {
      if (!isObject(value)) throw wrong(place, 'an object');
      for (const name of Object.keys(value)) checkPart(item, value[name], place, name);
    },
  object: (fields: Readonly<Record<string, Shape>>): Shape => {
    const shapes = Object.entries(fields);
    return (value, place) => {
      if (!isObject(value)) throw wrong(place, 'an object');
      for (const [name, shape] of shapes) checkPart(shape, value[name], place, name);
    };
  },
} as const;

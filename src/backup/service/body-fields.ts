// Declarations of the fields of JSON bodies, and their reading: an error names the field and what is expected. Fields that are
// not declared are refused. A field that is null counts as absent.
import { jsonBoundsProblem } from '#base/json-bounds.ts';

export class BodyError extends Error {}

export interface BodyField<T> {
  read(value: unknown, path: string): T;
}

type Fields = Readonly<Record<string, BodyField<unknown>>>;
type Values<F extends Fields> = { [K in keyof F]: FieldValue<F[K]> };
export type FieldValue<F> = F extends BodyField<infer T> ? T : never;

const wrong = (path: string, expected: string): BodyError =>
  new BodyError(path === '' ? `the body must be ${expected}` : `${path}: must be ${expected}`);

export const bodyField = {
  text: (pattern: RegExp, expected: string): BodyField<string> => ({
    read(value, path) {
      if (typeof value !== 'string' || !pattern.test(value)) throw wrong(path, expected);
      return value;
    },
  }),
  integer: (min: number, max: number): BodyField<number> => ({
    read(value, path) {
      if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
        throw wrong(path, `an integer from ${min} to ${max}`);
      return value as number;
    },
  }),
  boolean: {
    read(value, path) {
      if (typeof value !== 'boolean') throw wrong(path, 'true or false');
      return value;
    },
  } as BodyField<boolean>,
  oneOf: <const T extends readonly string[]>(values: T): BodyField<T[number]> => ({
    read(value, path) {
      if (typeof value !== 'string' || !values.includes(value))
        throw wrong(path, `one of ${values.join(', ')}`);
      return value;
    },
  }),
  list: <T>(max: number, item: BodyField<T>): BodyField<T[]> => ({
    read(value, path) {
      if (!Array.isArray(value) || value.length > max) throw wrong(path, `a list of at most ${max}`);
      return value.map((element, index) => item.read(element, `${path}.${index}`));
    },
  }),
  object: <const F extends Fields>(fields: F): BodyField<Values<F>> => ({
    read: (value, path) => readFields(value, fields, path),
  }),
  optional: <T>(field: BodyField<T>): BodyField<T | undefined> => ({
    read: (value, path) => (value === undefined || value === null ? undefined : field.read(value, path)),
  }),
} as const;

/** @throws BodyError */
export function readJsonBody<const F extends Fields>(body: Buffer, fields: F): Values<F> {
  return readFields(parsed(body), fields, '');
}

function parsed(body: Buffer): unknown {
  const problem = jsonBoundsProblem(body);
  if (problem !== null) throw new BodyError(problem);
  try {
    return JSON.parse(body.toString());
  } catch (error) {
    throw new BodyError(`the body is not JSON: ${(error as Error).message}`);
  }
}

function readFields<F extends Fields>(value: unknown, fields: F, path: string): Values<F> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(path, 'an object');
  const pathOf = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined)
    throw new BodyError(
      `${pathOf(unknown)}: is not a field here; the fields are ${Object.keys(fields).join(', ')}`,
    );
  const sent = new Map(Object.entries(value));
  const read = Object.entries(fields).map(([name, field]) => [
    name,
    field.read(sent.get(name), pathOf(name)),
  ]);
  return Object.fromEntries(read) as Values<F>;
}

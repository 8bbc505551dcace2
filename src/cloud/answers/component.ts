// Helpers of the published schemas: strict objects under their published names, and the forms of common fields. Every message
// says what would be right, after the name of the field.
import { z } from 'zod';

/** An object with a published schema name that accepts no unknown fields. */
export const component = <S extends z.ZodRawShape>(id: string, shape: S) =>
  z.strictObject(shape).meta({ id });

/** Case-insensitive; stored in lower case. */
export const uuidField = () => z.guid('must be a uuid').toLowerCase();

/** Text that both databases store unchanged: no null characters, no lone surrogates. */
const isStorable = (value: string): boolean => !value.includes('\0') && value.isWellFormed();

export const text = (min: number, max: number) =>
  z
    .string(`must be a string of ${min} to ${max} characters`)
    .min(min, `must have ${min} to ${max} characters`)
    .max(max, `must have ${min} to ${max} characters`)
    .refine(isStorable, 'must contain no null characters and no unpaired surrogates');
export const oneOf = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` });
/** A choice with a published schema name. */
export const choice = <const T extends readonly string[]>(id: string, values: T) =>
  oneOf(values).meta({ id });
export const integer = (min: number, max?: number) => {
  const right =
    max === undefined
      ? `must be a whole number of at least ${min}`
      : `must be a whole number from ${min} to ${max}`;
  const least = z.int(right).min(min, right);
  return max === undefined ? least : least.max(max, right);
};
export const dateTime = () => z.iso.datetime();

/** Milliseconds as the API's date-time. */
export const dateOf = (ms: number): string => new Date(ms).toISOString();

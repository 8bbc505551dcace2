// Fields of validated requests and the texts of their refusals, which clients see and compare. A schema made of these
// refuses every wrong field at once: `{"errors":{field: text}}`.
import { z } from 'zod';
import { fieldText } from './field-text.ts';

/** The text for a value that is there but wrong, and `required` for one that is not. */
const wrong = (text: string) => ({
  error: (issue: { input?: unknown }) => (issue.input === undefined ? fieldText.required : text),
});

const boolean = () =>
  z.enum(['true', 'false'], wrong(fieldText.oneOf(['true', 'false']))).transform((value) => value === 'true');

const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, wrong(fieldText.oneOf(values)));

/** Decimal digits with an optional sign; blanks around them are tolerated. */
const integer = (min: number, max: number) =>
  z
    .string(wrong(fieldText.required))
    .regex(/^\s*[+-]?\d{1,18}\s*$/, fieldText.integer)
    .transform(Number)
    .refine((value) => value >= min && value <= max, fieldText.range(min, max));

const text = () => z.string(wrong(fieldText.required));

export const field = { boolean, oneOf, integer, text };

type Shape = Record<string, z.ZodType>;

/** A form that takes these fields and no others. */
export const form = <S extends Shape>(shape: S) => z.strictObject(shape);

/** A form that takes these fields and drops others. */
export const openForm = <S extends Shape>(shape: S) => z.object(shape);

/** A form that takes these fields, no others, and at least one. */
export const filledForm = <S extends Shape>(shape: S) =>
  z
    .record(z.string(), z.unknown())
    .refine((sent) => Object.keys(sent).length > 0, { path: ['_'], message: fieldText.noParameters })
    .pipe(z.strictObject(shape));

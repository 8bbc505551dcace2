// Fields of queries and forms, with the texts of their refusals, which clients see and compare. A form made of these
// refuses every wrong field at once: `{"errors":{field: text}}`.
import { integerOf } from '#base/decimal.ts';
import { fieldText } from './field-text.ts';
import type { JsonSchema } from './json-schema.ts';
import type { Issue, Result, Schema } from './schema.ts';

type Reading<T> = { readonly value: T } | { readonly problem: string };

export interface Field<T> {
  /** The allowed values as text for the reference page. */
  readonly doc: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  /** `sent` is `undefined` when the request does not have the field. */
  read(sent: unknown): Reading<T>;
  optional(): Field<T | undefined>;
  default(value: T): Field<T>;
  refine(holds: (value: T) => boolean, problem: string): Field<T>;
}

type FieldDescription = Pick<Field<unknown>, 'doc' | 'schema' | 'isRequired'>;

function fieldOf<T>(description: FieldDescription, read: (sent: unknown) => Reading<T>): Field<T> {
  const ifOptional = { ...description, isRequired: false };
  return {
    ...description,
    read,
    optional: () =>
      fieldOf<T | undefined>(ifOptional, (sent) => (sent === undefined ? { value: sent } : read(sent))),
    default: (value) =>
      fieldOf({ ...ifOptional, schema: { ...description.schema, default: value } }, (sent) =>
        sent === undefined ? { value } : read(sent),
      ),
    refine: (holds, problem) =>
      fieldOf(description, (sent) => {
        const reading = read(sent);
        return 'value' in reading && !holds(reading.value) ? { problem } : reading;
      }),
  };
}

/** A field that must be sent, as a string. */
const sentField = <T>(
  doc: string,
  schema: JsonSchema,
  wrongType: string,
  read: (sent: string) => Reading<T>,
): Field<T> =>
  fieldOf({ doc, schema, isRequired: true }, (sent) => {
    if (sent === undefined) return { problem: fieldText.required };
    return typeof sent === 'string' ? read(sent) : { problem: wrongType };
  });

const text = () =>
  sentField<string>('text', { type: 'string' }, fieldText.string, (sent) => ({ value: sent }));

const oneOf = <const T extends readonly string[]>(values: T) => {
  const problem = fieldText.oneOf(values);
  return sentField<T[number]>(`one of ${values.join(', ')}`, { enum: values }, problem, (sent) =>
    values.includes(sent) ? { value: sent } : { problem },
  );
};

const boolean = () => {
  const problem = fieldText.oneOf(['true', 'false']);
  return sentField<boolean>('true or false', { type: 'boolean' }, problem, (sent) =>
    sent === 'true' || sent === 'false' ? { value: sent === 'true' } : { problem },
  );
};

/** Infinite bounds are omitted from the documentation. */
const range = (minimum: number, maximum: number): JsonSchema => ({
  type: 'integer',
  ...(Number.isSafeInteger(minimum) && { minimum }),
  ...(Number.isSafeInteger(maximum) && { maximum }),
});

/** Decimal digits with an optional sign; blanks around them are tolerated. */
const integer = (min: number, max: number) =>
  sentField<number>(`integer from ${min} to ${max}`, range(min, max), fieldText.integer, (sent) => {
    const value = integerOf(sent);
    if (value === null) return { problem: fieldText.integer };
    return value >= min && value <= max ? { value } : { problem: fieldText.range(min, max) };
  });

export const field = { boolean, oneOf, integer, text };

type Shape = Readonly<Record<string, Field<unknown>>>;
type Values<S extends Shape> = { [K in keyof S]: S[K] extends Field<infer T> ? T : never };

export interface Form<T> extends Schema<T> {
  readonly fields: Shape;
}

/** A form with these fields; others are refused. */
export const form = <const S extends Shape>(shape: S): Form<Values<S>> =>
  formOf(shape, { others: 'refused' });

/** A form with these fields; others are ignored. */
export const openForm = <const S extends Shape>(shape: S): Form<Values<S>> =>
  formOf(shape, { others: 'ignored' });

/** A form with at least one of these fields; others are refused. */
export const filledForm = <const S extends Shape>(shape: S): Form<Values<S>> =>
  formOf(shape, { others: 'refused', mayBeEmpty: false });

interface FormRules {
  readonly others: 'refused' | 'ignored';
  readonly mayBeEmpty?: boolean;
}

const formOf = <S extends Shape>(shape: S, rules: FormRules): Form<Values<S>> => ({
  fields: shape,
  '~standard': { version: 1, vendor: 'divan', validate: (sent) => readForm(shape, rules, sent) },
});

function readForm<S extends Shape>(shape: S, rules: FormRules, sent: unknown): Result<Values<S>> {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) {
    return { issues: [{ message: fieldText.unexpectedJson }] };
  }
  const sentFields = new Map(Object.entries(sent));
  if (sentFields.size === 0 && rules.mayBeEmpty === false)
    return { issues: [issue('_', fieldText.noParameters)] };
  const issues: Issue[] = [];
  const values: [string, unknown][] = [];
  for (const [name, member] of Object.entries(shape)) {
    const reading = member.read(sentFields.get(name));
    if ('problem' in reading) issues.push(issue(name, reading.problem));
    else values.push([name, reading.value]);
  }
  if (rules.others === 'refused') {
    for (const name of sentFields.keys())
      if (!Object.hasOwn(shape, name)) issues.push(issue(name, fieldText.unsupported));
  }
  return issues.length > 0 ? { issues } : { value: Object.fromEntries(values) as Values<S> };
}

const issue = (name: string, message: string): Issue => ({ message, path: [name] });

// JSON Schemas (draft 2020-12) of requests and responses: for the OpenAPI document, and for tests that validate responses.

export interface JsonSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null';
  /** Schemas with a title become one named component. */
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly anyOf?: readonly JsonSchema[];
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly default?: unknown;
}

type Properties = Readonly<Record<string, JsonSchema>>;

/** An object with exactly these properties; those not listed as optional are required. */
const object = (properties: Properties, optional: Properties = {}): JsonSchema => ({
  type: 'object',
  properties: { ...properties, ...optional },
  required: Object.keys(properties),
  additionalProperties: false,
});

/** Several properties with one schema. */
const each = (schema: JsonSchema, ...names: string[]): Properties =>
  Object.fromEntries(names.map((name) => [name, schema]));

/** A map from any name to this schema. */
const record = (value: JsonSchema): JsonSchema => ({ type: 'object', additionalProperties: value });

export const shape = {
  object,
  each,
  record,
  array: (items: JsonSchema): JsonSchema => ({ type: 'array', items }),
  string: { type: 'string' } as JsonSchema,
  integer: { type: 'integer' } as JsonSchema,
  number: { type: 'number' } as JsonSchema,
  boolean: { type: 'boolean' } as JsonSchema,
  nothing: { type: 'null' } as JsonSchema,
  any: {} as JsonSchema,
  time: { type: 'string', format: 'date-time' } as JsonSchema,
  oneOf: (...values: (string | number | boolean | null)[]): JsonSchema => ({
    ...(values.every((value) => typeof value === 'string') && { type: 'string' as const }),
    enum: values,
  }),
  either: (...schemas: JsonSchema[]): JsonSchema => ({ anyOf: schemas }),
  /** Becomes the component of this name. */
  named: (title: string, schema: JsonSchema): JsonSchema => ({ ...schema, title }),
  described: (description: string, schema: JsonSchema): JsonSchema => ({ ...schema, description }),
};

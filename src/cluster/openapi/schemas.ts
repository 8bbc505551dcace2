// Moves schemas with a title to the document's components, where each is described once.
import type { JsonSchema } from '#contract/json-schema.ts';

export type Reference = { $ref: string } | JsonSchema;

export class Schemas {
  readonly named: Record<string, JsonSchema> = {};

  /** The schema with references in place of titled schemas in it. */
  hoist(schema: JsonSchema): Reference {
    const { title, ...rest } = schema;
    if (title === undefined) return this.#inside(rest);
    this.named[title] ??= this.#inside(rest);
    return { $ref: `#/components/schemas/${title}` };
  }

  #inside(schema: JsonSchema): JsonSchema {
    const { properties, items, anyOf, additionalProperties } = schema;
    return {
      ...schema,
      ...(properties && { properties: this.#each(properties) }),
      ...(items && { items: this.hoist(items) as JsonSchema }),
      ...(anyOf && { anyOf: anyOf.map((branch) => this.hoist(branch) as JsonSchema) }),
      ...(typeof additionalProperties === 'object' && {
        additionalProperties: this.hoist(additionalProperties) as JsonSchema,
      }),
    };
  }

  #each(properties: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
    const entries = Object.entries(properties);
    return Object.fromEntries(entries.map(([name, schema]) => [name, this.hoist(schema) as JsonSchema]));
  }
}

// Compares a value with a JSON schema; returns every place where it does not match.
import type { JsonSchema } from '#contract/json-schema.ts';

export function schemaMismatches(value: unknown, schema: JsonSchema, at = '$'): string[] {
  if (schema.anyOf) return anyMismatches(value, schema.anyOf, at);
  if (schema.enum && !schema.enum.includes(value as string)) {
    return [`${at}: ${JSON.stringify(value)} is none of ${JSON.stringify(schema.enum)}`];
  }
  if (schema.type !== undefined && !isOfType(value, schema.type)) {
    return [`${at}: ${JSON.stringify(value)?.slice(0, 80)} is no ${schema.type}`];
  }
  if (schema.type === 'array' && schema.items) {
    const { items } = schema;
    return (value as unknown[]).flatMap((item, index) => schemaMismatches(item, items, `${at}[${index}]`));
  }
  return schema.type === 'object' ? objectMismatches(value as Record<string, unknown>, schema, at) : [];
}

function anyMismatches(value: unknown, schemas: readonly JsonSchema[], at: string): string[] {
  const each = schemas.map((schema) => schemaMismatches(value, schema, at));
  return each.some((found) => found.length === 0) ? [] : each.flat();
}

function objectMismatches(value: Record<string, unknown>, schema: JsonSchema, at: string): string[] {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const missing = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => `${at}.${name}: missing`);
  const wrong = Object.entries(value).flatMap(([name, item]) => {
    const itemSchema = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (itemSchema === false) return [`${at}.${name}: not described`];
    return typeof itemSchema === 'object' ? schemaMismatches(item, itemSchema, `${at}.${name}`) : [];
  });
  return [...missing, ...wrong];
}

function isOfType(value: unknown, type: NonNullable<JsonSchema['type']>): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

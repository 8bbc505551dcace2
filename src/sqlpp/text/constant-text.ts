// Formats a constant of an expression as canonical text.
import { jsonText } from '../values/json-text.ts';
import { Binary, RawJson, type Value, type ValueObject } from '../values/value.ts';

/** Arrays and objects get the spaces that `formatExpression` writes between items and members; `jsonText` writes none. */
export function constantText(value: Value): string {
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return `[${value.map(constantText).join(', ')}]`;
  const isObject = typeof value === 'object' && value !== null;
  if (!isObject || value instanceof Binary || value instanceof RawJson) return jsonText(value);
  const members = Object.entries(value as ValueObject);
  return `{${members.map(([name, member]) => `${jsonText(name)}: ${constantText(member)}`).join(', ')}}`;
}

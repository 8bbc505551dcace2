// Compiles the expressions of an index definition with the query language.
import type { IndexDefinition, IndexKey } from '#sqlpp/datastore/indexes.ts';
import { parseExpression } from '#sqlpp/text/parser.ts';
import type { AllKeys, Expression, FlattenKeys } from '#sqlpp/tree/expression.ts';
import type { Value } from '#sqlpp/values/value.ts';
import type { ArrayKey, CompiledDefinition, IndexedDocument, PlainKey } from './compiled-definition.ts';
import { documentExpression } from './document-expression.ts';
import { flattenKeysOf } from './key-parts.ts';

export function compileDefinition({ keys, condition }: IndexDefinition): CompiledDefinition {
  return {
    condition: condition === undefined ? null : conditionOf(condition),
    keys: keys.map(keyOf),
  };
}

function conditionOf(text: string): (document: IndexedDocument) => boolean {
  const evaluate = documentExpression(parseExpression(text));
  return (document) => evaluate(document) === true;
}

function keyOf(key: IndexKey): PlainKey | ArrayKey {
  const expression = parseExpression(key.expression);
  if (expression.kind === 'all keys') return arrayKey(key, expression);
  const { isDescending, includesMissing } = key;
  return { kind: 'plain', isDescending, includesMissing, evaluate: documentExpression(expression) };
}

function arrayKey(key: IndexKey, node: AllKeys): ArrayKey {
  const { of, depth } = flattened(node.of);
  const flat = flattenKeysOf(node.of);
  const evaluate = documentExpression(of);
  const tuple = flat === null ? (value: Value) => [value] : (value: Value) => membersOf(value, flat.length);
  return {
    kind: 'array',
    isDistinct: node.isDistinct,
    parts: flat ?? [key],
    evaluate(document) {
      const value = evaluate(document);
      if (value === undefined) return 'missing';
      if (!Array.isArray(value)) return [tuple(value)];
      const elements = depth === 0 ? (value as readonly Value[]) : (value.flat(depth) as readonly Value[]);
      return elements.map((element) => tuple(element));
    },
  };
}

/**
 * Makes nested array keys one expression. Its value is an array whose elements are nested in `depth` further levels of arrays. FLATTEN_KEYS
 * becomes an object with a member for each of its keys.
 */
function flattened(key: Expression): { of: Expression; depth: number } {
  if (key.kind !== 'comprehension') return { of: key, depth: 0 };
  const { value } = key;
  if (value.kind === 'flatten keys') return { of: { ...key, value: objectOf(value) }, depth: 0 };
  if (value.kind !== 'all keys') return { of: key, depth: 0 };
  const inner = flattened(value.of);
  return { of: { ...key, value: inner.of }, depth: inner.depth + 1 };
}

/** An object omits MISSING members, which distinguishes them from NULL. */
const objectOf = ({ keys, at }: FlattenKeys): Expression => ({
  kind: 'object',
  members: keys.map(({ expression }, position) => ({
    name: { kind: 'constant', value: String(position), at },
    value: expression,
  })),
  at,
});

function membersOf(value: Value, count: number): Value[] {
  const object = value as Readonly<Record<string, Value>> | undefined | null;
  return Array.from({ length: count }, (_, position) => object?.[String(position)]);
}

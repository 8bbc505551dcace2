// The parts of an index's keys, each of which is one value of an index row: an array key with FLATTEN_KEYS has one for each of its keys,
// every other key has one.
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { parseExpression } from '#sqlpp/text/parser.ts';
import type { Expression, KeyTerm } from '#sqlpp/tree/expression.ts';

export interface KeyPart {
  readonly isDescending: boolean;
  readonly includesMissing: boolean;
}

export function keyPartsOf({ keys }: IndexDefinition): readonly KeyPart[] {
  return keys.flatMap((key): readonly KeyPart[] => {
    if (key.array === undefined) return [key];
    return flattenKeysOf(parseExpression(key.expression)) ?? [key];
  });
}

/** null: the key has no FLATTEN_KEYS. */
export function flattenKeysOf(node: Expression): readonly KeyTerm[] | null {
  if (node.kind === 'all keys') return flattenKeysOf(node.of);
  if (node.kind === 'flatten keys') return node.keys;
  return node.kind === 'comprehension' ? flattenKeysOf(node.value) : null;
}

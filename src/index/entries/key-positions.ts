// Positions of an index's keys: an array key with FLATTEN_KEYS takes one for each of its keys, every other key takes one.
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { parseExpression } from '#sqlpp/text/parser.ts';
import type { Expression, KeyTerm } from '#sqlpp/tree/query.ts';

export interface KeyPosition {
  readonly isDescending: boolean;
  readonly includesMissing: boolean;
}

export function positionsOf({ keys }: IndexDefinition): readonly KeyPosition[] {
  return keys.flatMap((key): readonly KeyPosition[] => {
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

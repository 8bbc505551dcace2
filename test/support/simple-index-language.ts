// An index language with paths and whole arrays as its only keys, for tests of the index service without SQL++.
import type { CompiledDefinition, IndexedDocument } from '#index/entries/compiled-definition.ts';
import type { IndexDefinition, IndexKey } from '#sqlpp/datastore/indexes.ts';
import type { Value } from '#sqlpp/values/value.ts';

export const compileSimply = (definition: IndexDefinition): CompiledDefinition => ({
  condition:
    definition.condition === undefined
      ? null
      : (document) => parsed(document, definition.condition as string) === true,
  keys: definition.keys.map(keyOf),
});

function keyOf({
  expression,
  isDescending,
  includesMissing,
  array,
}: IndexKey): CompiledDefinition['keys'][number] {
  if (array === undefined)
    return {
      kind: 'plain',
      isDescending,
      includesMissing,
      evaluate: (document) => parsed(document, expression),
    };
  return {
    kind: 'array',
    isDistinct: array === 'distinct',
    parts: [{ isDescending, includesMissing }],
    evaluate: (document) => {
      const value = parsed(document, expression);
      if (value === undefined) return 'missing';
      return Array.isArray(value) ? value.map((element: Value) => [element]) : [[value]];
    },
  };
}

function parsed(document: IndexedDocument, path: string): Value {
  if (!document.isJson) return undefined;
  let value = JSON.parse(Buffer.from(document.body).toString()) as Value;
  for (const name of path.replaceAll('`', '').split('.'))
    value = (value as Record<string, Value> | null)?.[name];
  return value;
}

let count = 0;

/** A definition in bucket `b` of the tests' data service, of collection `orders` unless it says otherwise. */
export function aDefinition(
  keys: readonly (string | Partial<IndexKey>)[],
  overrides: Partial<IndexDefinition> & { bucketUuid?: string; collectionId?: number } = {},
): IndexDefinition {
  const { bucketUuid = 'b0', collectionId = 8, ...changes } = overrides;
  const id = (++count).toString(16).padStart(16, '0');
  return {
    id,
    name: `index_${count}`,
    keyspace: {
      name: { namespace: 'default', bucket: 'b', scope: 'shop', collection: 'orders' },
      bucketUuid,
      scopeId: 8,
      collectionId,
    },
    isPrimary: keys.length === 0,
    keys: keys.map((key) => ({
      expression: '',
      isDescending: false,
      includesMissing: false,
      ...(typeof key === 'string' ? { expression: key } : key),
    })),
    isDeferred: false,
    replicas: 0,
    ...changes,
  };
}

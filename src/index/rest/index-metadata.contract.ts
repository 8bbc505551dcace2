// Definitions of indexes as backup tools read them from the index service.
import { shape } from '#contract/json-schema.ts';
import type { IndexDefinition } from '../index.contract.ts';
import type { ShownNode } from './index-records.contract.ts';

const { string, integer, boolean } = shape;

const definitionShape = shape.named(
  'IndexDefinition',
  shape.object(
    {
      ...shape.each(string, 'name', 'using', 'bucket', 'bucketUUID', 'scope', 'scopeId', 'collection'),
      ...shape.each(string, 'collectionId', 'exprType', 'partitionScheme', 'defnId'),
      ...shape.each(
        boolean,
        'isPrimary',
        'deferred',
        'isArrayIndex',
        'isArrayDistinct',
        'indexMissingLeadingKey',
      ),
      ...shape.each(integer, 'numReplica', 'numPartitions'),
      secExprs: shape.array(string),
      desc: shape.array(boolean),
      partitionKeys: shape.array(string),
    },
    { where: string },
  ),
);

export const indexMetadataShape = shape.named(
  'IndexMetadata',
  shape.object({
    ...shape.each(string, 'nodeUUID', 'indexerId', 'storageMode'),
    definitions: shape.array(definitionShape),
  }),
);

export function indexMetadata(
  definitions: readonly IndexDefinition[],
  { uuid, storageMode }: ShownNode,
): Record<string, unknown> {
  return { nodeUUID: uuid, indexerId: uuid, storageMode, definitions: definitions.map(definitionRecord) };
}

function definitionRecord(definition: IndexDefinition): Record<string, unknown> {
  const { id, name, keyspace, keys, isPrimary, isDeferred, replicas, condition, partition } = definition;
  const { bucket, scope, collection } = keyspace.name;
  return {
    defnId: id,
    name,
    using: 'gsi',
    bucket,
    bucketUUID: keyspace.bucketUuid,
    scope,
    scopeId: keyspace.scopeId.toString(16),
    collection,
    collectionId: keyspace.collectionId.toString(16),
    isPrimary,
    exprType: 'N1QL',
    secExprs: keys.map(({ expression }) => expression),
    desc: keys.map(({ isDescending }) => isDescending),
    ...(condition !== undefined && { where: condition }),
    isArrayIndex: keys.some(({ array }) => array !== undefined),
    isArrayDistinct: keys.some(({ array }) => array === 'distinct'),
    indexMissingLeadingKey: keys[0]?.includesMissing ?? false,
    deferred: isDeferred,
    numReplica: replicas,
    partitionScheme: partition === undefined ? 'SINGLE' : 'KEY',
    partitionKeys: partition?.expressions ?? [],
    numPartitions: partition?.partitions ?? 1,
  };
}

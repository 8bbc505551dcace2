// Renders an index definition as its CREATE INDEX statement.
import type { IndexDefinition, IndexKey } from '../index.contract.ts';

/** ``CREATE INDEX `by_city` ON `travel`.`inventory`.`hotel`(`city` DESC) WHERE (…) WITH {…}`` */
export function definitionText(definition: IndexDefinition): string {
  const { name, isPrimary, keys, condition, partition } = definition;
  const kind = isPrimary ? 'PRIMARY INDEX' : 'INDEX';
  const by = partition === undefined ? '' : ` PARTITION BY hash(${partition.expressions.join(', ')})`;
  const where = condition === undefined ? '' : ` WHERE ${condition}`;
  const list = isPrimary ? '' : `(${keys.map(keyText).join(',')})`;
  return `CREATE ${kind} ${quoted(name)} ON ${keyspacePath(definition)}${list}${by}${where}${withText(definition)}`;
}

export const keyText = ({ expression, isDescending, includesMissing }: IndexKey): string =>
  `${expression}${includesMissing ? ' INCLUDE MISSING' : ''}${isDescending ? ' DESC' : ''}`;

const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

function keyspacePath({ keyspace: { name } }: IndexDefinition): string {
  const isDefault = name.scope === '_default' && name.collection === '_default';
  return (isDefault ? [name.bucket] : [name.bucket, name.scope, name.collection]).map(quoted).join('.');
}

function withText({ isDeferred, partition, replicas }: IndexDefinition): string {
  const parts = {
    ...(isDeferred && { defer_build: true }),
    ...(replicas > 0 && { num_replica: replicas }),
    ...(partition !== undefined && { num_partition: partition.partitions }),
  };
  return Object.keys(parts).length === 0 ? '' : ` WITH ${JSON.stringify(parts)}`;
}

// Names of the keyspaces that a statement reads and writes.

/** A collection, or a keyspace of the catalog (`system:` ones have no bucket and scope). */
export interface KeyspaceName {
  readonly namespace: 'default' | 'system';
  readonly bucket: string;
  readonly scope: string;
  readonly collection: string;
}

/** A scope as the target of a privilege: a keyspace name without a collection. */
export const scopeKeyspace = (scope: { readonly bucket: string; readonly scope: string }): KeyspaceName => ({
  namespace: 'default',
  bucket: scope.bucket,
  scope: scope.scope,
  collection: '',
});

/** A keyspace that exists: the ids distinguish it from a later one of the same name. */
export interface Keyspace {
  readonly name: KeyspaceName;
  readonly bucketUuid: string;
  readonly scopeId: number;
  readonly collectionId: number;
}

/** The name as statements write it: `default`:`travel`.`inventory`.`airline`, each part in backquotes. */
export function quotedKeyspace({ namespace, bucket, scope, collection }: KeyspaceName): string {
  const isDefault = scope === '_default' && collection === '_default';
  const path = namespace === 'system' ? [collection] : isDefault ? [bucket] : [bucket, scope, collection];
  return `\`${namespace}\`:${path.map((part) => `\`${part}\``).join('.')}`;
}

/** The name in error texts and plans: `default:travel`, or `default:travel.inventory.airline`. */
export function keyspaceText({ namespace, bucket, scope, collection }: KeyspaceName): string {
  if (namespace === 'system') return `system:${collection}`;
  const isDefault = scope === '_default' && collection === '_default';
  return isDefault ? `default:${bucket}` : `default:${bucket}.${scope}.${collection}`;
}

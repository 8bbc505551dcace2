// The scopes and collections of a bucket as the REST API has them, and the request that adds some.
import type { CollectionRecord } from '../format/manifest.ts';

export interface WantedCollections {
  /** Also those without collections. */
  readonly scopes: readonly string[];
  readonly collections: readonly Omit<CollectionRecord, 'id'>[];
}

interface RawCollection {
  name: string;
  uid: string;
  maxTTL?: number;
}

export interface RawScope {
  name: string;
  collections: RawCollection[];
  limits?: unknown;
}

/** The request that replaces all scopes: the present and the missing ones; null if none is missing. */
export function withCollections(present: readonly RawScope[], wanted: WantedCollections): unknown[] | null {
  const scopes = new Map(
    present.map(({ name, limits, collections }) => [
      name,
      { name, ...(limits !== undefined && { limits }), collections: collections.map(collectionForm) },
    ]),
  );
  let missing = 0;
  const scopeOf = (name: string) => {
    const scope = scopes.get(name) ?? { name, collections: [] };
    if (!scopes.has(name)) missing++;
    scopes.set(name, scope);
    return scope;
  };
  for (const name of wanted.scopes) scopeOf(name);
  for (const { scope: name, name: collection, maxTtl } of wanted.collections) {
    const scope = scopeOf(name);
    if (scope.collections.some((existing) => existing.name === collection)) continue;
    scope.collections.push(collectionForm({ name: collection, maxTTL: maxTtl }));
    missing++;
  }
  return missing === 0 ? null : [...scopes.values()];
}

const collectionForm = ({
  name,
  maxTTL = 0,
}: Omit<RawCollection, 'uid'>): { name: string; maxTTL?: number } => ({
  name,
  ...(maxTTL > 0 && { maxTTL }),
});

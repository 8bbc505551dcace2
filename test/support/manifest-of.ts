// A manifest of a bucket whose collections are all in its default scope.
import type { Manifest } from '#kv/admin.ts';

/** `maxTTL`: that of the last collection, in seconds. */
export function manifestOf(ids: readonly number[], uid: number, maxTTL = 0): Manifest {
  const last = ids.at(-1);
  const collections = ids.map((id) => ({
    name: `c${id}`,
    uid: id.toString(16),
    ...(id === last && maxTTL !== 0 && { maxTTL }),
  }));
  return { uid: uid.toString(16), scopes: [{ name: '_default', uid: '0', collections }] };
}

// Resolves the names in roles to existing buckets, scopes and collections.
import type { BucketTarget } from '#auth/grants.ts';
import { roleText } from '#auth/role-names.ts';
import type { GrantedRole } from '#auth/role-rules.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { ChangeNotifier } from '../config/until.ts';
import type { StoredRole } from './users.store.ts';

/** The resources that roles can name. */
export interface RoleTargets extends ChangeNotifier {
  bucket(name: string): BucketTarget | null;
}

export const targetsOf = (view: ClusterView): RoleTargets => ({
  bucket(name) {
    const bucket = view.liveBucket(name);
    return bucket ? { uuid: bucket.uuid, scopes: view.manifest(bucket.uuid).scopes } : null;
  },
  onChange: (listener) => view.onChange(listener),
});

/** Roles with the ids of their resources. `invalid`: roles that name a resource that does not exist. */
export function resolveRoles(
  roles: readonly GrantedRole[],
  targets: RoleTargets,
): { roles: StoredRole[]; invalid: string[] } {
  const resolved: StoredRole[] = [];
  const invalid: string[] = [];
  for (const role of roles) {
    const ids = idsOf(role, targets);
    if (ids) resolved.push({ role: role.role, names: role.names, ids });
    else invalid.push(roleText(role));
  }
  return { roles: resolved, invalid };
}

/** False for a role whose bucket, scope or collection was deleted, even if there is another of that name. */
export function targetsExist(role: StoredRole, targets: RoleTargets): boolean {
  const ids = idsOf(role, targets);
  return ids?.every((id, index) => id === role.ids[index]) ?? false;
}

function idsOf(role: GrantedRole, targets: RoleTargets): (string | null)[] | null {
  const [bucketName = null, scopeName = null, collectionName = null] = role.names;
  if (bucketName === null) return role.names.map(() => null);
  const bucket = targets.bucket(bucketName);
  if (!bucket) return null;
  const scope = bucket.scopes.find((candidate) => candidate.name === scopeName);
  if (scopeName !== null && !scope) return null;
  const collection = scope?.collections.find((candidate) => candidate.name === collectionName);
  if (collectionName !== null && !collection) return null;
  return [bucket.uuid, scope?.uid ?? null, collection?.uid ?? null].slice(0, role.names.length);
}

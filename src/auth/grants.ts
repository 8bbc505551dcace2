// Compiles roles for the data service, which knows privileges and collection ids, not roles and names.
import type { Permission, PermissionStep } from './permission.ts';
import { type BucketGrant, type Grants, Privilege } from './privileges.ts';
import { allows, everyName, type GrantedRole } from './role-rules.ts';

/** The collections that roles can name; ids as lower-case hex. */
export interface BucketTarget {
  readonly uuid: string;
  readonly scopes: readonly {
    readonly name: string;
    readonly uid: string;
    readonly collections: readonly { readonly name: string; readonly uid: string }[];
  }[];
}

const everything = Object.values(Privilege).reduce((bits, bit) => bits | bit, 0);

export const fullGrants = (): Grants => ({
  node: everything,
  buckets: { [everyName]: { privileges: everything } },
});

/** A privilege and the permission that grants it: an operation on an object below `cluster`, or below the collection in question. */
type Rule = readonly [privilege: Privilege, object: string, operation: string];

const nodeRules: readonly Rule[] = [
  [Privilege.systemSettings, 'pools', 'read'],
  [Privilege.stats, 'stats.memcached', 'read'],
  [Privilege.stats, 'admin.internal.stats', 'read'],
  [Privilege.administrator, 'admin.memcached', 'all'],
];

/** Privileges that commands check for a whole bucket only. */
const bucketRules: readonly Rule[] = [
  [Privilege.dcpProducer, 'data.dcp', 'read'],
  [Privilege.dcpConsumer, 'data.dcp', 'write'],
];

const collectionRules: readonly Rule[] = [
  [Privilege.read, 'data.docs', 'read'],
  [Privilege.insert, 'data.docs', 'insert'],
  [Privilege.upsert, 'data.docs', 'upsert'],
  [Privilege.delete, 'data.docs', 'delete'],
  [Privilege.rangeScan, 'data.docs', 'range_scan'],
  [Privilege.systemCollectionLookup, 'data.docs', 'sread'],
  [Privilege.systemCollectionMutation, 'data.docs', 'swrite'],
  [Privilege.metaWrite, 'data.meta', 'write'],
  [Privilege.systemXattrRead, 'data.sxattr', 'read'],
  [Privilege.systemXattrWrite, 'data.sxattr', 'write'],
  [Privilege.dcpStream, 'data.dcpstream', 'read'],
  [Privilege.simpleStats, 'stats', 'read'],
];

/** `bucket` returns null for an unknown bucket. The entry of a bucket includes the grants of the entry for all buckets. */
export function compileGrants(
  roles: readonly GrantedRole[],
  bucket: (name: string) => BucketTarget | null,
): Grants {
  const named = roles.map((role) => role.names[0]).filter((name) => typeof name === 'string');
  const buckets = [...new Set([everyName, ...named])]
    .map((name) => [name, compileBucket(roles, name, name === everyName ? null : bucket(name))] as const)
    .filter(([, grant]) => grant.privileges !== 0 || grant.scopes);
  // From entries: a bucket may be named like a property that every object inherits.
  return { node: evaluate(roles, nodeRules, null), buckets: Object.fromEntries(buckets) };
}

function compileBucket(
  roles: readonly GrantedRole[],
  name: string,
  target: BucketTarget | null,
): BucketGrant {
  const grant: BucketGrant = {
    privileges: evaluate(roles, [...bucketRules, ...collectionRules], [name, everyName, everyName]),
  };
  for (const { names } of roles) {
    if (names[0] === name && typeof names[1] === 'string') addScope(grant, roles, names, target);
  }
  return grant;
}

function addScope(
  grant: BucketGrant,
  roles: readonly GrantedRole[],
  names: GrantedRole['names'],
  target: BucketTarget | null,
): void {
  const [bucket, scopeName, collectionName] = names as [string, string, string?];
  const scope = target?.scopes.find((candidate) => candidate.name === scopeName);
  if (!scope) return;
  const scopes = (grant.scopes ??= {});
  const found = (scopes[scope.uid] ??= {
    privileges: evaluate(roles, collectionRules, [bucket, scopeName, everyName]),
  });
  const collection = scope.collections.find((candidate) => candidate.name === collectionName);
  if (!collection) return;
  found.collections ??= {};
  found.collections[collection.uid] = evaluate(roles, collectionRules, [bucket, scopeName, collection.name]);
}

function evaluate(
  roles: readonly GrantedRole[],
  rules: readonly Rule[],
  names: readonly string[] | null,
): number {
  let bits = 0;
  for (const [privilege, object, operation] of rules) {
    if (allows(roles, permissionOf(object, operation, names))) bits |= privilege;
  }
  return bits;
}

function permissionOf(object: string, operation: string, names: readonly string[] | null): Permission {
  const steps: PermissionStep[] = object.split('.').map((name) => ({ name, names: [] }));
  return { object: names ? [{ name: 'collection', names }, ...steps] : steps, operation };
}

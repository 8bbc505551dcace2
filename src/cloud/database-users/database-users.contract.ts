// Operations on the database users of a cluster, as which applications log in.
import { z } from 'zod';
import { choice, component, text, uuidField } from '../answers/component.ts';
import { defineOperation } from '../http/operation.ts';

const roles = ['data_writer', 'data_reader'] as const;
const role = choice('bucketRoleTypes', roles);
const v3Role = choice('v3BucketRoles', roles);
const bucketsProblem = 'must be a list of buckets with roles';
/** A node gives a user at most this many roles, and each entry of the list is at least one. */
const entriesMax = 1_000;
const tooManyEntries = `must have at most ${entriesMax} entries`;
const username = () => text(1, 128);
const password = () => text(1, 1024);

/** Names become part of the node's role list, so they must not contain its separators, which could add another role. */
const bucketName = () => text(1, 100).regex(/^(\*|[\w.%-]+)$/, 'must be the name of a bucket, or * for all');
const scopeName = () => text(1, 251).regex(/^(\*|[\w%-]+)$/, 'must be the name of a scope, or * for all');

/** The node's roles cannot name a scope of all buckets. */
const isInOneBucket = ({ bucket, scope = '*' }: { bucket: string; scope?: string | undefined }): boolean =>
  bucket !== '*' || scope === '*';
const scopeRule = { path: ['scope'], error: 'must be * if the bucket is *' };

/** As published, with `scope` for access to one scope. */
const bucketRole = component('BucketRole', {
  bucketName: bucketName(),
  scope: scopeName().optional(),
  bucketAccess: z
    .array(role, 'must be a list of roles')
    .min(1, 'must name at least one role')
    .refine((list) => new Set(list).size === list.length, 'must name each role once'),
});
const bucketRoleRequest = bucketRole.refine(
  ({ bucketName: bucket, scope }) => isInOneBucket({ bucket, scope }),
  scopeRule,
);

/** Roles of a user in one bucket or in all (`*`), or in one scope of the bucket. */
export interface Access {
  readonly bucketName: string;
  readonly scope?: string | undefined;
  readonly bucketAccess: readonly ('data_writer' | 'data_reader')[];
}

const accessFields = {
  buckets: z.array(bucketRoleRequest, bucketsProblem).max(entriesMax, tooManyEntries).optional(),
  allBucketsAccess: role.optional(),
};

export const createDatabaseUserRequest = component('CreateDatabaseUserRequest', {
  userId: uuidField().optional(),
  username: username(),
  password: password(),
  ...accessFields,
});

export const updateDatabaseUserRequest = component('UpdateDatabaseUserRequest', {
  userId: uuidField().optional(),
  username: username().optional(),
  password: password().optional(),
  ...accessFields,
});

const v3CreateClusterUserRequest = component('V3CreateClusterUserRequest', {
  // Accepted as in v2.
  userId: uuidField().optional(),
  username: username(),
  password: password(),
  allBucketsAccess: v3Role.optional(),
  buckets: z
    .array(
      z.union([
        component('V3CreateClusterUserRequest_buckets', {
          name: bucketName(),
          scope: scopeName(),
          access: v3Role,
        }).refine(({ name: bucket, scope }) => isInOneBucket({ bucket, scope }), scopeRule),
        bucketRoleRequest,
      ]),
      bucketsProblem,
    )
    .max(entriesMax, tooManyEntries)
    .optional(),
});

const userItem = component('ListDatabaseUsersResponseItem', {
  userId: uuidField(),
  username: z.string(),
  access: z.array(bucketRole),
});
export type UserItem = z.output<typeof userItem>;

const users = '/v2/clusters/{id}/users';
const shared = { access: 'token', subject: 'cluster', malformedId: 422 } as const;

export const ListDatabaseUsers = defineOperation({
  ...shared,
  id: 'clusters/list-users',
  method: 'GET',
  path: users,
  doc: 'All database users, in the order of their creation.',
  fromStore: true,
  query: z.strictObject({}),
  replies: {
    200: { doc: 'The database users', body: z.array(userItem).meta({ id: 'ListDatabaseUsersResponse' }) },
  },
});

export const CreateDatabaseUser = defineOperation({
  ...shared,
  id: 'clusters/create-user',
  method: 'POST',
  path: users,
  doc: 'Creates a database user.',
  body: createDatabaseUserRequest,
  replies: { 201: { doc: 'Created', headers: { Location: 'the users of the cluster' } } },
});

export const V3CreateClusterUser = defineOperation({
  ...shared,
  id: 'clusters/v3create-user',
  method: 'POST',
  path: '/v3/clusters/{id}/users',
  doc: 'Creates a database user with access to buckets and scopes.',
  body: v3CreateClusterUserRequest,
  replies: { 201: { doc: 'Created', headers: { Location: 'the users of the cluster' } } },
});

export const UpdateDatabaseUser = defineOperation({
  ...shared,
  id: 'clusters/update-user',
  method: 'PUT',
  path: `${users}/{username}`,
  doc: 'Changes the password, the access, or both; omitted fields stay unchanged.',
  body: updateDatabaseUserRequest,
  replies: { 204: { doc: 'Changed' } },
});

export const DeleteDatabaseUser = defineOperation({
  ...shared,
  malformedId: 404,
  id: 'clusters/delete-user',
  method: 'DELETE',
  path: `${users}/{username}`,
  doc: 'Deletes a database user, which ends its access.',
  replies: { 204: { doc: 'Deleted' } },
});

type AccessFields = {
  buckets?:
    | readonly (
        | z.output<typeof bucketRole>
        | { name: string; scope: string; access: 'data_writer' | 'data_reader' }
      )[]
    | undefined;
  allBucketsAccess?: 'data_writer' | 'data_reader' | undefined;
};

/** Null if the request has no field about access. Each bucket, and each scope of a bucket, has one entry. */
export function accessOf({ buckets, allBucketsAccess }: AccessFields): Access[] | null {
  if (buckets === undefined && allBucketsAccess === undefined) return null;
  const all: Access[] =
    allBucketsAccess === undefined ? [] : [{ bucketName: '*', bucketAccess: [allBucketsAccess] }];
  return merged([...all, ...(buckets ?? []).map(oneAccess)]);
}

/** An entry of v3 has one role, so that two roles in one scope are two entries. */
function merged(entries: readonly Access[]): Access[] {
  // Names contain no spaces.
  const byTarget = Map.groupBy(entries, ({ bucketName: bucket, scope = '' }) => `${bucket} ${scope}`);
  return [...byTarget.values()].map((group) => ({
    ...(group[0] as Access),
    bucketAccess: [...new Set(group.flatMap(({ bucketAccess }) => bucketAccess))],
  }));
}

function oneAccess(entry: NonNullable<AccessFields['buckets']>[number]): Access {
  const { bucketName: bucket, bucketAccess } =
    'bucketName' in entry ? entry : { bucketName: entry.name, bucketAccess: [entry.access] };
  return { bucketName: bucket, ...(entry.scope !== '*' && { scope: entry.scope }), bucketAccess };
}

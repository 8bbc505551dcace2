// Handlers for database users.
import type { ReadyClusters } from '../clusters/ready-cluster.ts';
import { type BoundOperation, bind, type Reply } from '../http/operation.ts';
import { bindBoth, type Version } from '../http/versions.ts';
import type { ClusterRow } from '../store/tables.ts';
import {
  accessOf,
  CreateDatabaseUser,
  DeleteDatabaseUser,
  ListDatabaseUsers,
  UpdateDatabaseUser,
  V3CreateClusterUser,
} from './database-users.contract.ts';
import type { DatabaseUsersService, UserRequest } from './database-users.service.ts';

export function databaseUserOperations(ready: ReadyClusters, users: DatabaseUsersService): BoundOperation[] {
  const create = async (cluster: ClusterRow, version: Version, request: UserRequest): Promise<Reply> => {
    await users.create(await ready.requireReady(cluster), request);
    return { status: 201, headers: { location: `/${version}/clusters/${cluster.id}/users` } };
  };
  return [
    ...bindBoth(ListDatabaseUsers, async ({ subject }) => ({
      status: 200,
      body: await users.list(await ready.requireReady(subject)),
    })),
    bind(CreateDatabaseUser, ({ subject, body }) =>
      create(subject, 'v2', { ...body, access: accessOf(body) ?? [] }),
    ),
    bind(V3CreateClusterUser, ({ subject, body }) =>
      create(subject, 'v3', { ...body, access: accessOf(body) ?? [] }),
    ),
    ...bindBoth(UpdateDatabaseUser, async ({ params, subject, body }) => {
      const cluster = await ready.requireReady(subject);
      await users.update(cluster, params['username'] as string, { ...body, access: accessOf(body) });
      return { status: 204 };
    }),
    ...bindBoth(DeleteDatabaseUser, async ({ params, subject }) => {
      const cluster = await ready.requireReady(subject);
      await users.delete(cluster, params['username'] as string);
      return { status: 204 };
    }),
  ];
}

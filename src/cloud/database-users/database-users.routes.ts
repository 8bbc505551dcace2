// Requests about database users.

import type { Caller } from '../access/caller.ts';
import type { ReadyClusters } from '../clusters/ready-cluster.ts';
import { type BoundOperation, bind, type Reply } from '../http/operation.ts';
import { bindBoth, type Version } from '../http/versions.ts';
import {
  accessOf,
  CreateDatabaseUser,
  DeleteDatabaseUser,
  ListDatabaseUsers,
  UpdateDatabaseUser,
  V3CreateClusterUser,
} from './database-users.contract.ts';
import type { DatabaseUsersService, UserWish } from './database-users.service.ts';

export function databaseUserOperations(ready: ReadyClusters, users: DatabaseUsersService): BoundOperation[] {
  const create = async (caller: Caller, id: string, version: Version, wish: UserWish): Promise<Reply> => {
    await users.create(await ready.forWriting(caller, id, version), wish);
    return { status: 201, headers: { location: `/${version}/clusters/${id}/users` } };
  };
  return [
    ...bindBoth(ListDatabaseUsers, async ({ caller, params }, version) => ({
      status: 200,
      body: await users.list(await ready.forReading(caller, params['id'] as string, version)),
    })),
    bind(CreateDatabaseUser, ({ caller, params, body }) =>
      create(caller, params['id'] as string, 'v2', { ...body, access: accessOf(body) ?? [] }),
    ),
    bind(V3CreateClusterUser, ({ caller, params, body }) =>
      create(caller, params['id'] as string, 'v3', { ...body, access: accessOf(body) ?? [] }),
    ),
    ...bindBoth(UpdateDatabaseUser, async ({ caller, params, body }, version) => {
      const cluster = await ready.forWriting(caller, params['id'] as string, version);
      await users.update(cluster, params['username'] as string, { ...body, access: accessOf(body) });
      return { status: 204 };
    }),
    ...bindBoth(DeleteDatabaseUser, async ({ caller, params }, version) => {
      const cluster = await ready.forWriting(caller, params['id'] as string, version);
      await users.delete(cluster, params['username'] as string);
      return { status: 204 };
    }),
  ];
}

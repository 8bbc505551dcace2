// Database users: users of the node with exactly the requested roles. The cloud's store has their ids, order and requested access;
// passwords are sent to the node and never stored here.

import type { RestFields, RestReply } from '#client/rest.adapter.ts';
import type { Clock } from '#ports/clock.ts';
import { KeyedQueue } from '#ports/keyed-queue.ts';
import type { Random } from '#ports/random.ts';
import { invalid, notFound } from '../answers/api-error.ts';
import { type ClusterSpec, servicesOf } from '../clusters/cluster-spec.ts';
import type { ReadyCluster } from '../clusters/ready-cluster.ts';
import { isRefusal, requireAccepted } from '../node-client/refusals.ts';
import type { DatabaseUserRow, Store } from '../store/tables.ts';
import type { Access, UserItem } from './database-users.contract.ts';
import type { UnconfirmedUserChanges } from './unconfirmed-user-changes.ts';

/** The cloud's field for each field of the node's API; `_`: errors of the node without a field. */
const cloudFieldOf = { name: 'username', roles: 'buckets', _: 'username' };
const allBuckets = '*';
export const usersMax = 1_000;
/** The most access entries of all users of a cluster: its list of users shows all of them. */
export const accessEntriesMax = 20_000;
/** How often a removal of access is tried again because another server has changed the access meanwhile. */
const attemptsMax = 20;
/** A creation that began longer ago than this has ended. */
const creationMaxMs = 60_000;

export interface UserRequest {
  readonly userId?: string | undefined;
  readonly username: string;
  readonly password: string;
  readonly access: readonly Access[];
}

export interface UserChange {
  readonly userId?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Null: unchanged. */
  readonly access: readonly Access[] | null;
}

export interface DatabaseUsersOptions {
  store: Store;
  unconfirmed: Pick<UnconfirmedUserChanges, 'begin' | 'forget' | 'isHomeOf' | 'note' | 'stored'>;
  clock: Clock;
  random: Random;
}

export class DatabaseUsersService {
  private readonly options: DatabaseUsersOptions;
  /** One change per user at a time, so that the node's last state equals the store's. */
  private readonly changesByUser = new KeyedQueue();

  constructor(options: DatabaseUsersOptions) {
    this.options = options;
  }

  async list({ row }: ReadyCluster): Promise<UserItem[]> {
    const rows = await this.rows(row.id).orderBy('created_at').orderBy('username').execute();
    return rows.map((user) => ({
      userId: user.user_id,
      username: user.username,
      access: accessIn(user),
    }));
  }

  create(cluster: ReadyCluster, request: UserRequest): Promise<void> {
    return this.inTurn(cluster, request.username, () => this.createNow(cluster, request));
  }

  update(cluster: ReadyCluster, username: string, change: UserChange): Promise<void> {
    return this.inTurn(cluster, username, () => this.updateNow(cluster, username, change));
  }

  delete(cluster: ReadyCluster, username: string): Promise<void> {
    return this.inTurn(cluster, username, () => this.deleteNow(cluster, username));
  }

  /** Removes access to a deleted bucket, so that a later bucket of the same name does not inherit it. Access to all buckets stays. */
  async removeBucketAccess(cluster: ReadyCluster, bucketName: string): Promise<void> {
    if (bucketName === allBuckets) return;
    const rows = await this.rows(cluster.row.id).execute();
    for (const { username } of rows.filter((user) =>
      accessIn(user).some((entry) => entry.bucketName === bucketName),
    ))
      await this.inTurn(cluster, username, () => this.removeAccess(cluster, username, bucketName));
  }

  async hasBucketAccess({ row }: ReadyCluster, bucketName: string): Promise<boolean> {
    const rows = await this.rows(row.id).execute();
    return rows.some((user) => accessIn(user).some((entry) => entry.bucketName === bucketName));
  }

  /**
   * Call when the outcome of a bucket's deletion is unknown: the users with access to the bucket are sent to the node again later, without
   * that access if the bucket no longer exists then.
   */
  async bucketDeletionUnconfirmed(cluster: ReadyCluster, bucketName: string): Promise<void> {
    if (bucketName === allBuckets) return;
    for (const user of await this.rows(cluster.row.id).execute())
      if (accessIn(user).some((entry) => entry.bucketName === bucketName))
        await this.options.unconfirmed.note(cluster.row.id, user.username);
  }

  /**
   * Gives the users the roles that their access implies in a cluster that now has the query service. A user whose access the node
   * refuses, for example to a scope that was deleted since, keeps the present roles.
   */
  async applyRoles(cluster: ReadyCluster, cancellation: AbortSignal): Promise<void> {
    if (!servicesIn(cluster).includes('query')) return;
    for (const { username } of await this.rows(cluster.row.id).execute()) {
      cancellation.throwIfAborted();
      await this.inTurn(cluster, username, () => this.applyRolesOf(cluster, username));
    }
  }

  /** Makes the node's user equal to the store's. */
  confirm(cluster: ReadyCluster, username: string): Promise<void> {
    return this.inTurn(cluster, username, async () => {
      const user = await this.find(cluster.row.id, username);
      const answer = await cluster.client.send(user ? 'GET' : 'DELETE', pathOf(username));
      if (user === undefined) return requireDeleted(answer);
      // The node does not have the user: an unanswered deletion took effect, or another process of the cloud is still creating the user.
      const wasDeleted =
        answer.status === 404 && user.created_at < this.options.clock.wallMs() - creationMaxMs;
      if (wasDeleted) await this.deleteRow(user);
      else await this.putStored(cluster, user);
    });
  }

  /** Sends the stored user without access to buckets that the node no longer has: the node would refuse them. */
  private async putStored(cluster: ReadyCluster, user: DatabaseUserRow): Promise<void> {
    const { username } = user;
    const access = accessIn(user);
    try {
      await this.putToNode(cluster, username, { access });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const names = await bucketNames(cluster);
      const valid = access.filter(({ bucketName }) => bucketName === allBuckets || names.has(bucketName));
      if (valid.length === access.length) throw error;
      await this.putToNode(cluster, username, { access: valid });
      // A change of another server is kept: that server has noted it, so that it is confirmed as well.
      await this.storeAccess(cluster, username, valid, { before: user.access });
    }
  }

  private inTurn(cluster: ReadyCluster, username: string, work: () => Promise<void>): Promise<void> {
    return this.changesByUser.run(`${cluster.row.id} ${username}`, work);
  }

  /** Writes the row first, so that of concurrent requests for one name, at any process of the cloud, only one reaches the node. */
  private async createNow(cluster: ReadyCluster, request: UserRequest): Promise<void> {
    const user = {
      cluster_id: cluster.row.id,
      username: request.username,
      user_id: request.userId ?? this.options.random.uuid(),
      access: JSON.stringify(request.access),
      created_at: this.options.clock.wallMs(),
    };
    await this.refuseTooMany(cluster);
    await this.refuseTooMuchAccess(cluster, user.username, request.access);
    if (!(await this.insert(user)) && !(await this.takeOver(cluster, user)))
      throw invalid(`username: cluster ${cluster.row.id} has a user "${request.username}" already`);
    try {
      await this.recorded(cluster, request.username, () =>
        this.putToNode(cluster, request.username, request),
      );
    } catch (error) {
      await this.deleteRow(user);
      throw error;
    }
  }

  private async refuseTooMany({ row: { id } }: ReadyCluster): Promise<void> {
    const users = this.options.store.selectFrom('database_users').where('cluster_id', '=', id);
    const { count } = await users.select((e) => e.fn.countAll().as('count')).executeTakeFirstOrThrow();
    if (Number(count) >= usersMax)
      throw invalid(
        `username: cluster ${id} has ${usersMax} users, which is the most it can have; delete others first`,
      );
  }

  private async refuseTooMuchAccess(
    { row: { id } }: ReadyCluster,
    username: string,
    access: readonly Access[],
  ): Promise<void> {
    const others = await this.rows(id).where('username', '!=', username).execute();
    const entries = others.reduce((sum, user) => sum + accessIn(user).length, access.length);
    if (entries > accessEntriesMax)
      throw invalid(
        `buckets: the users of cluster ${id} would have ${entries} entries of access in all, and can have at most ${accessEntriesMax}; give fewer, or access to all buckets`,
      );
  }

  private async insert(user: DatabaseUserRow): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await this.options.store
      .insertInto('database_users')
      .values(user)
      .onConflict((conflict) => conflict.columns(['cluster_id', 'username']).doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }

  /** Takes over a row without a user on the node, which a creation interrupted by a kill has left. */
  private async takeOver({ row, client }: ReadyCluster, user: DatabaseUserRow): Promise<boolean> {
    const createdUntil = user.created_at - creationMaxMs;
    const leftover = await this.find(row.id, user.username);
    if (leftover === undefined || leftover.created_at > createdUntil) return false;
    if ((await client.send('GET', pathOf(user.username))).status !== 404) return false;
    const { numUpdatedRows } = await this.options.store
      .updateTable('database_users')
      .set(user)
      .where('cluster_id', '=', row.id)
      .where('username', '=', user.username)
      .where('created_at', '<=', createdUntil)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  private async updateNow(cluster: ReadyCluster, username: string, change: UserChange): Promise<void> {
    const user = await this.findOrThrow(cluster, username);
    if (change.username !== undefined && change.username !== username)
      throw invalid('username: cannot be changed');
    if (change.userId !== undefined && change.userId !== user.user_id)
      throw invalid('userId: cannot be changed');
    const access = change.access ?? accessIn(user);
    if (access.length > accessIn(user).length) await this.refuseTooMuchAccess(cluster, username, access);
    const toNode = () => this.putToNode(cluster, username, { password: change.password, access });
    // A change of the password alone leaves the access as it is stored. It needs no write, which a full disk would refuse.
    if (change.access === null && this.options.unconfirmed.isHomeOf(cluster.row)) return toNode();
    await this.recorded(cluster, username, toNode, async (transaction) => {
      await this.storeAccess(cluster, username, access, { store: transaction });
    });
  }

  private async deleteNow(cluster: ReadyCluster, username: string): Promise<void> {
    const user = await this.findOrThrow(cluster, username);
    const toNode = async () => requireDeleted(await this.send(cluster, username, 'DELETE'));
    await this.recorded(cluster, username, toNode, (transaction) => this.deleteRow(user, transaction));
  }

  /**
   * Changes the user of the node and then its row. The change is recorded first, so that the node gets the stored user again if the
   * write fails or the process ends in between.
   */
  private async recorded(
    { row }: ReadyCluster,
    username: string,
    toNode: () => Promise<void>,
    toStore: (transaction: Store) => Promise<void> = async () => {},
  ): Promise<void> {
    const { store, unconfirmed } = this.options;
    const change = await unconfirmed.begin(row, username);
    try {
      await toNode();
    } catch (error) {
      if (isRefusal(error)) await unconfirmed.forget(change);
      throw error;
    }
    await store.transaction().execute(async (transaction) => {
      await toStore(transaction);
      await unconfirmed.stored(change, transaction);
    });
  }

  private async removeAccess(cluster: ReadyCluster, username: string, bucketName: string): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const user = await this.find(cluster.row.id, username);
      if (user === undefined) return;
      const access = accessIn(user).filter((entry) => entry.bucketName !== bucketName);
      if (await this.storeAccess(cluster, username, access, { before: user.access })) return;
    }
    throw new Error(`other servers change the access of user "${username}" at the same time`);
  }

  private async applyRolesOf(cluster: ReadyCluster, username: string): Promise<void> {
    const user = await this.find(cluster.row.id, username);
    if (user === undefined) return;
    const roles = rolesOf(accessIn(user), servicesIn(cluster));
    const answer = await this.send(cluster, username, 'PUT', { roles });
    if (answer.status >= 500) requireAccepted(answer, cloudFieldOf);
  }

  private async putToNode(
    cluster: ReadyCluster,
    username: string,
    { password, access }: { password?: string | undefined; access: readonly Access[] },
  ): Promise<void> {
    const fields = {
      roles: rolesOf(access, servicesIn(cluster)),
      ...(password !== undefined && { password }),
    };
    requireAccepted(await this.send(cluster, username, 'PUT', fields), cloudFieldOf);
  }

  /** A node that did not answer may still apply the change later; one that answered with an error of its own may have applied it. */
  private async send(
    { row, client }: ReadyCluster,
    username: string,
    method: 'PUT' | 'DELETE',
    fields?: RestFields,
  ): Promise<RestReply> {
    let answer: RestReply | null = null;
    try {
      answer = await client.send(method, pathOf(username), fields);
      return answer;
    } finally {
      if (answer === null || answer.status >= 500) await this.options.unconfirmed.note(row.id, username);
    }
  }

  /** `before`: the stored access that is replaced, and no other. Resolves with whether it was replaced. */
  private async storeAccess(
    { row }: ReadyCluster,
    username: string,
    access: readonly Access[],
    { before, store = this.options.store }: { before?: string; store?: Store },
  ): Promise<boolean> {
    const update = store
      .updateTable('database_users')
      .set({ access: JSON.stringify(access) })
      .where('cluster_id', '=', row.id)
      .where('username', '=', username);
    const compared = before === undefined ? update : update.where('access', '=', before);
    return (await compared.executeTakeFirst()).numUpdatedRows > 0n;
  }

  /** Leaves the row of a user that another server has created under the same name since. */
  private async deleteRow(
    { cluster_id, username, user_id, created_at }: DatabaseUserRow,
    store: Store = this.options.store,
  ): Promise<void> {
    await store
      .deleteFrom('database_users')
      .where((e) => e.and({ cluster_id, username, user_id, created_at }))
      .execute();
  }

  private async findOrThrow({ row }: ReadyCluster, username: string): Promise<DatabaseUserRow> {
    const user = await this.find(row.id, username);
    if (user === undefined) throw notFound(`cluster ${row.id} has no user "${username}"`);
    return user;
  }

  private find(clusterId: string, username: string): Promise<DatabaseUserRow | undefined> {
    return this.rows(clusterId).where('username', '=', username).executeTakeFirst();
  }

  private rows(clusterId: string) {
    return this.options.store.selectFrom('database_users').selectAll().where('cluster_id', '=', clusterId);
  }
}

const accessIn = ({ access }: DatabaseUserRow) => JSON.parse(access) as UserItem['access'];

/** Throws unless the node deleted the user, or has none of that name. */
function requireDeleted(answer: RestReply): void {
  if (answer.status !== 404) requireAccepted(answer, cloudFieldOf);
}

async function bucketNames({ client }: ReadyCluster): Promise<ReadonlySet<string>> {
  const buckets = JSON.parse(await client.request('GET', '/pools/default/buckets')) as { name: string }[];
  return new Set(buckets.map(({ name }) => name));
}

const pathOf = (username: string): string => `/settings/rbac/users/local/${encodeURIComponent(username)}`;

const servicesIn = ({ row }: ReadyCluster): string[] =>
  servicesOf((JSON.parse(row.spec) as ClusterSpec).servers);

/** Query roles that a data role implies in a cluster with the query service. */
const queryRoles = {
  data_reader: ['query_select'],
  data_writer: ['query_insert', 'query_update', 'query_delete', 'query_manage_index'],
} as const;

/** `data_reader[orders:_default],data_writer[*]` */
function rolesOf(access: readonly Access[], services: readonly string[]): string {
  const hasQueries = services.includes('query');
  return access
    .flatMap(({ bucketName, scope, bucketAccess }) => {
      const target = scope === undefined || bucketName === allBuckets ? bucketName : `${bucketName}:${scope}`;
      return bucketAccess
        .flatMap((role) => [role, ...(hasQueries ? queryRoles[role] : [])])
        .map((role) => `${role}[${target}]`);
    })
    .join(',');
}

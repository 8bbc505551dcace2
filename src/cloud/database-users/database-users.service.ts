// Database users: users of the node with exactly the roles asked for. The store keeps their ids, order and access as it was
// written; passwords go to the node and are kept nowhere here.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { ReadyCluster } from '../clusters/ready-cluster.ts';
import { invalid, notFound } from '../http/goof.ts';
import { accepted } from '../node-client/refusals.ts';
import type { DatabaseUserRow, Store } from '../store/tables.ts';
import type { Access, UserItem } from './database-users.contract.ts';

const names = { name: 'username', roles: 'buckets', _: 'username' };
const all = '*';

export interface UserWish {
  readonly userId?: string | undefined;
  readonly username: string;
  readonly password: string;
  readonly access: readonly Access[];
}

export interface UserChange {
  readonly userId?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly access: readonly Access[] | null;
}

export class DatabaseUsersService {
  private readonly options: { store: Store; clock: Clock; random: Random };

  constructor(options: { store: Store; clock: Clock; random: Random }) {
    this.options = options;
  }

  async list({ row }: ReadyCluster): Promise<UserItem[]> {
    const rows = await this.rows(row.id).orderBy('created_at').orderBy('username').execute();
    return rows.map((user) => ({
      userId: user.user_id,
      username: user.username,
      access: JSON.parse(user.access) as UserItem['access'],
    }));
  }

  async create(cluster: ReadyCluster, wish: UserWish): Promise<void> {
    const { row } = cluster;
    if ((await this.find(row.id, wish.username)) !== undefined) {
      throw invalid(`username: cluster ${row.id} has a user "${wish.username}" already`);
    }
    await this.putToNode(cluster, wish.username, wish);
    await this.options.store
      .insertInto('database_users')
      .values({
        cluster_id: row.id,
        username: wish.username,
        user_id: wish.userId ?? this.options.random.uuid(),
        access: JSON.stringify(wish.access),
        created_at: this.options.clock.wallMs(),
      })
      .onConflict((conflict) => conflict.columns(['cluster_id', 'username']).doNothing())
      .execute();
  }

  async update(cluster: ReadyCluster, username: string, change: UserChange): Promise<void> {
    const user = await this.need(cluster, username);
    if (change.username !== undefined && change.username !== username)
      throw invalid('username: cannot be changed');
    if (change.userId !== undefined && change.userId !== user.user_id)
      throw invalid('userId: cannot be changed');
    const access = change.access ?? (JSON.parse(user.access) as Access[]);
    await this.putToNode(cluster, username, { password: change.password, access });
    await this.options.store
      .updateTable('database_users')
      .set({ access: JSON.stringify(access) })
      .where('cluster_id', '=', cluster.row.id)
      .where('username', '=', username)
      .execute();
  }

  async delete(cluster: ReadyCluster, username: string): Promise<void> {
    await this.need(cluster, username);
    const answer = await cluster.client.request('DELETE', pathOf(username));
    if (answer.status !== 404) accepted(answer, names);
    await this.options.store
      .deleteFrom('database_users')
      .where('cluster_id', '=', cluster.row.id)
      .where('username', '=', username)
      .execute();
  }

  private async putToNode(
    { client }: ReadyCluster,
    username: string,
    { password, access }: { password?: string | undefined; access: readonly Access[] },
  ): Promise<void> {
    const fields = { roles: rolesOf(access), ...(password !== undefined && { password }) };
    accepted(await client.request('PUT', pathOf(username), fields), names);
  }

  private async need({ row }: ReadyCluster, username: string): Promise<DatabaseUserRow> {
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

const pathOf = (username: string): string => `/settings/rbac/users/local/${encodeURIComponent(username)}`;

/** `data_reader[orders:_default],data_writer[*]` */
function rolesOf(access: readonly Access[]): string {
  return access
    .flatMap(({ bucketName, scope, bucketAccess }) =>
      bucketAccess.map(
        (role) => `${role}[${bucketName}${scope === undefined || bucketName === all ? '' : `:${scope}`}]`,
      ),
    )
    .join(',');
}

// The service of the database users of a cluster, with a database in memory and a node that stores roles.
import type { TestContext } from 'node:test';
import type { RestReply } from '#client/rest.adapter.ts';
import type { ReadyCluster } from '#cloud/clusters/ready-cluster.ts';
import { DatabaseUsersService } from '#cloud/database-users/database-users.service.ts';
import { UnconfirmedUserChanges } from '#cloud/database-users/unconfirmed-user-changes.ts';
import { migrate } from '#cloud/store/migrations.ts';
import { openSqlite } from '#cloud/store/sqlite.adapter.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { aClusterRow } from './cluster-row.ts';
import { ManualClock } from './manual-clock.ts';

export const newUser = { username: 'u', password: 'p', access: [] };

/** A node that stores the roles of users by name; `before` runs before each answer. */
class UserNode {
  readonly roles = new Map<string, string>();
  before: (method: string) => Promise<void> = async () => {};
  /** Runs after the node applied a request, before its answer arrives. */
  answered: () => Promise<void> = async () => {};
  /** The status of an answer that says neither that the request was applied nor that it was not. */
  errorStatus: number | null = null;
  /** The user whose changes the node refuses. */
  refused = '';
  /** The buckets of the node, which refuses roles of others. */
  buckets: readonly string[] = ['b', 'B'];

  async request(): Promise<string> {
    return JSON.stringify(this.buckets.map((name) => ({ name })));
  }

  async send(method: string, path: string, fields?: { roles: string }): Promise<RestReply> {
    await this.before(method);
    const name = path.split('/').at(-1) as string;
    if (this.errorStatus !== null && method === 'DELETE')
      return { status: this.errorStatus, body: 'not now' };
    const named = Array.from((fields?.roles ?? '').matchAll(/\[(\w+)\]/g), ([, bucket]) => bucket as string);
    if (name === this.refused || !named.every((bucket) => this.buckets.includes(bucket)))
      return { status: 400, body: '{"errors":{"roles":"no such bucket"}}' };
    if (method === 'PUT') this.roles.set(name, fields?.roles ?? '');
    else if (!this.roles.has(name)) return { status: 404, body: '' };
    if (method === 'DELETE') this.roles.delete(name);
    await this.answered();
    return {
      status: this.errorStatus ?? 200,
      body: this.errorStatus === null ? '' : 'The change may be lost',
    };
  }
}

export async function aUsersService(t: TestContext) {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  const row = aClusterRow({ phase: 'ready' });
  await store.insertInto('clusters').values(row).execute();
  const node = new UserNode();
  const cluster = { row, client: node } as unknown as ReadyCluster;
  const clock = new ManualClock();
  const unconfirmed = new UnconfirmedUserChanges({ store, home: row.home, clock, log: silentLog });
  const server = () => new DatabaseUsersService({ store, unconfirmed, clock, random: realRandom });
  return { store, node, cluster, clock, unconfirmed, server, row };
}

/** Advances the clock by a second at a time, and lets pending work of the service run in between. */
export async function passTime(clock: ManualClock, ms: number): Promise<void> {
  for (let past = 0; past < ms; past += 1_000) {
    clock.advance(1_000);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

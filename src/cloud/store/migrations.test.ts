import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { migrate } from './migrations.ts';
import { openSqlite } from './sqlite.adapter.ts';

test('a migration makes the only node of each cluster of an earlier version a member of its cluster', async (t) => {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  await sql`alter table nodes drop column state`.execute(store);
  await sql`delete from kysely_migration where name = '0004_node_states'`.execute(store);
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  await store.insertInto('clusters').values(aClusterRow()).execute();
  await sql`insert into nodes (id, cluster_id, position, memory_mb, services, address, ports, home)
    values ('n', 'c', 0, 256, '["data"]', '127.64.0.1', '{}', 'here')`.execute(store);
  await migrate(store);
  const nodes = await store.selectFrom('nodes').select(['id', 'state']).execute();
  assert.deepEqual(
    nodes.map(({ id, state }) => [id, state]),
    [['n', 'member']],
  );
});

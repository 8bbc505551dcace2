import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import { unknownOperationFailed } from './unknown-operation.ts';

test('a cluster whose operation this version does not know can be changed or deleted once the operation has failed', async (t) => {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  const phaseAfter = async (phase: string): Promise<string> => {
    await store.insertInto('clusters').values(aClusterRow({ phase })).execute();
    await unknownOperationFailed(new ManualClock())(store, 'c');
    const cluster = await store.selectFrom('clusters').select('phase').executeTakeFirstOrThrow();
    await store.deleteFrom('clusters').execute();
    return cluster.phase;
  };
  assert.equal(await phaseAfter('scaling'), 'scale_failed');
  assert.equal(await phaseAfter('deploying'), 'deploy_failed');
  assert.equal(await phaseAfter('destroying'), 'destroy_failed');
  assert.equal(await phaseAfter('ready'), 'ready');
});

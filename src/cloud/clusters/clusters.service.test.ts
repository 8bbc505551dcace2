import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import { ClustersService } from './clusters.service.ts';

test('the cloud renames no cluster that was deleted while the body of the request arrived', async (t) => {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  const clusters = new ClustersService({ store, clock: new ManualClock() });
  await assert.rejects(clusters.changeDetails(aClusterRow(), { name: 'new' }), {
    name: 'ApiError',
    errorType: 'NotFound',
  });
});

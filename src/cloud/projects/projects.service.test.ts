import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import { ProjectsService, projectsMax } from './projects.service.ts';

test('an organization has projects up to a limit, and another once one was deleted', async (t) => {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  await sql`insert into projects with recursive n(i) as (select 2 union all select i + 1 from n where i < ${projectsMax})
    select 'p' || i, 'p', 0 from n`.execute(store);
  const projects = new ProjectsService({ store, clock: new ManualClock(), random: realRandom });
  const [first, second] = await Promise.allSettled([projects.create('last'), projects.create('more')]);
  assert.equal(first.status, 'fulfilled');
  assert.match(
    String((second as PromiseRejectedResult).reason),
    /name: there are 10000 projects, .*delete others first/,
  );
  await projects.delete('p2');
  await projects.create('more');
});

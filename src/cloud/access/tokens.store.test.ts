import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { SecretBox, secretKeyBytes } from '#auth/secret-box.ts';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import { startOrigin, TokenStore, tokensMax } from './tokens.store.ts';

const dayMs = 86_400_000;

test('the cloud has valid tokens up to a limit, which expired, revoked and start tokens do not count towards; long expired ones are deleted', async (t) => {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  const clock = new ManualClock();
  const secrets = new SecretBox(realRandom.bytes(secretKeyBytes), realRandom);
  const tokens = new TokenStore({ store, secrets, clock, random: realRandom });
  const owner = { role: 'organizationOwner', projectId: null, origin: 'operator', expiresAt: null } as const;
  const revoked = await tokens.issue(owner);
  await tokens.revoke({ id: revoked.id });
  const short = await tokens.issue({ ...owner, expiresAt: clock.wallMs() + dayMs });
  await sql`insert into tokens with recursive n(i) as (select 3 union all select i + 1 from n where i < ${tokensMax})
    select 't' || i, 'h' || i, 'k' || i, '', 'reader', null, 'operator', 0, null, null, null from n`.execute(
    store,
  );
  await tokens.issue(owner);
  await assert.rejects(tokens.issue(owner), /there are 10000 valid tokens, .*revoke others first/);
  await tokens.issue({ ...owner, origin: startOrigin('here') });
  clock.advance(2 * dayMs);
  await assert.rejects(tokens.issue(owner), /valid tokens/);
  await tokens.revoke({ id: 't3' });
  await tokens.issue(owner);
  assert.ok((await tokens.list()).some(({ id }) => id === short.id));
  clock.advance(90 * dayMs);
  await tokens.revoke({ id: 't4' });
  await tokens.issue(owner);
  const left = new Set((await tokens.list()).map(({ id }) => id));
  assert.deepEqual([left.has(short.id), left.has(revoked.id)], [false, true]);
});

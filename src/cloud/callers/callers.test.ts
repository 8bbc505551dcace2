import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { aCloud } from '../../../test/support/a-cloud.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TokenStore } from '../access/tokens.store.ts';

async function aTestCloud(t: TestContext) {
  const parts = await aCloud({ clock: new ManualClock() });
  t.after(() => parts.cloud.stop());
  return { ...parts, tokens: new TokenStore(parts) };
}

test('the cloud reports to a caller its role, its project, when its token expires, and the address that an allowlist needs', async (t) => {
  const { get, cloud, tokens, clock, store } = await aTestCloud(t);
  const own = { tokenId: cloud.startToken.id, role: 'organizationOwner', address: '127.0.0.1' };
  assert.deepEqual(await get('/v3/caller'), { status: 200, body: own });

  const projectId = '10000000-0000-4000-8000-000000000000';
  await store.insertInto('projects').values({ id: projectId, name: 'shop', created_at: 0 }).execute();
  const expiresAtMs = clock.wallMs() + 60_000;
  const { id, token } = await tokens.issue({
    role: 'projectViewer',
    projectId,
    origin: 'operator',
    expiresAt: expiresAtMs,
  });
  const { body } = await get('/v3/caller', { token });
  assert.deepEqual(body, {
    ...own,
    tokenId: id,
    role: 'projectViewer',
    projectId,
    expiresAt: new Date(expiresAtMs).toISOString(),
  });
});

test('the cloud refuses an unknown token with 401', async (t) => {
  const { get } = await aTestCloud(t);
  assert.equal((await get('/v3/caller', { token: 'unknown' })).status, 401);
});

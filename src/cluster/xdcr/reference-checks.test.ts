import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { targetUuid } from '../../../test/support/xdcr-target.ts';

const path = '/pools/default/remoteClusters';
const reference = { name: 'there', hostname: 'far:8091', username: 'u', password: 'pw' };

/** A target whose nodes a test adds, stops and locks; it counts its requests. */
async function aNodeWithTarget() {
  const target = {
    nodes: ['far', 'near'],
    down: new Set<string>(),
    password: 'pw',
    uuid: targetUuid,
    asked: 0,
  };
  const manager = await aManager({
    callTarget: async ({ host, password }, _method, requestPath) => {
      target.asked++;
      if (target.down.has(host)) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
      if (password !== target.password) return { status: 401, body: '' };
      const nodesExt = target.nodes.map((hostname) => ({ hostname, services: { mgmt: 8091 } }));
      const answer = requestPath === '/pools' ? { uuid: target.uuid, pools: [{}] } : { nodesExt };
      return { status: 200, body: JSON.stringify(answer) };
    },
  });
  const { request, clock } = manager;
  const status = async () => (await request(path)).body[0]?.connectivityStatus;
  const shows = async (wanted: string) => {
    await eventually(async () => {
      clock.advance(15_000);
      assert.equal(await status(), wanted);
    });
  };
  const create = () => request(path, { form: reference });
  return { ...manager, target, shows, create };
}

test('the reference check shows whether each node of the target answers and accepts the account', async () => {
  const { target, shows, create, request } = await aNodeWithTarget();
  await create();
  await shows('RC_OK');
  target.down.add('near');
  await shows('RC_DEGRADED');
  target.down.add('far');
  await shows('RC_ERROR');
  target.down.clear();
  target.password = 'other';
  await shows('RC_AUTH_ERR');
  const form = { ...reference, password: 'other' };
  assert.equal((await request(`${path}/there`, { method: 'POST', form })).status, 200);
  await shows('RC_OK');
  target.uuid = 'e'.repeat(32);
  await shows('RC_ERROR');
});

test('the reference check follows the nodes of the target, and reaches it without the first one', async () => {
  const { target, shows, create } = await aNodeWithTarget();
  await create();
  await shows('RC_OK');
  target.nodes = ['far', 'third'];
  target.down.add('near');
  await shows('RC_OK');
  target.down.add('third');
  await shows('RC_DEGRADED');
  target.down.clear();
  target.nodes = ['third'];
  target.down.add('far');
  await shows('RC_OK');
});

test('the reference check sends no requests to other clusters without a reference, and none after the last reference was deleted', async () => {
  const { target, shows, create, request, clock } = await aNodeWithTarget();
  clock.advance(60_000);
  assert.equal(target.asked, 0);
  await create();
  await shows('RC_OK');
  const pendingTimers = clock.pending;
  await request(`${path}/there`, { method: 'DELETE' });
  await eventually(() => assert.equal(clock.pending, pendingTimers - 1));
  const { asked } = target;
  clock.advance(60_000);
  assert.equal(target.asked, asked);
});

// Limits on concurrent requests and on memory, at once and after a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, NodeProcess } from '../support/node-process.ts';

const settings = '/internalSettings';

test('requests above the limits are refused with the reason; a limit of zero refuses all but its own removal, also after a restart', async () => {
  await using first = await NodeProcess.start();
  const { dataDir } = first;
  const stream = await first.request('/poolsStreaming/default');
  assert.equal((await first.request(settings, 'POST', { restRequestLimit: '1' })).status, 200);
  const refused = await first.request('/pools');
  assert.equal(refused.status, 503);
  assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
  assert.match(await refused.text(), /maximum number of simultaneous connections/);
  await stream.body?.cancel();
  await eventually(async () => assert.equal((await first.request('/pools')).status, 200));

  await first.request(settings, 'POST', { restRequestLimit: '0', capiRequestLimit: '0' });
  await first.stop();
  await using again = await NodeProcess.start({ dataDir });
  assert.equal((await again.request('/pools')).status, 503);
  const capi = await fetch(again.ready.node.capi);
  assert.deepEqual(
    [capi.status, ((await capi.json()) as { error: string }).error],
    [503, 'request_limit_exceeded'],
  );

  await again.request(settings, 'POST', { restRequestLimit: '', dropRequestMemoryThresholdMiB: '1' });
  assert.match(await (await again.request('/pools')).text(), /memory limit/);
  await again.request(settings, 'POST', { dropRequestMemoryThresholdMiB: '500' });
  assert.equal((await again.request('/pools')).status, 200);
  await again.stop();
});

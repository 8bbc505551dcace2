// Events of a real node before and after kill -9.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { portNumber } from '../support/addresses.ts';
import { KvConnection } from '../support/kv-connection.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';

test('the node keeps events, with the users that caused them, after kill -9', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-events-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const eventsOf = async (node: NodeProcess) => {
    const { events } = (await (await node.request('/events?limit=-1')).json()) as {
      events: { uuid: string; description: string; extra_attributes?: Record<string, unknown> }[];
    };
    return events;
  };
  const first = await NodeProcess.start({ dataDir, args: ['--bucket', 'b'] });
  t.after(() => first.stop('SIGKILL'));
  await first.request('/settings/stats', 'POST', { sendStats: 'true' });
  const connection = await KvConnection.open(portNumber(first.ready.node.kv));
  await connection.plain('Administrator', 'wrong-one');
  connection.close();
  // The data service reports the login after its reply.
  const before = await eventually(async () => {
    const events = await eventsOf(first);
    const refused = events.find(({ description }) => description === 'Login failed');
    assert.deepEqual(refused?.extra_attributes, {
      user: 'Administrator',
      domain: 'admin',
      from: '127.0.0.1',
      service: 'data',
      count: 1,
    });
    return events;
  });
  await first.stop('SIGKILL');

  const second = await NodeProcess.start({ dataDir });
  t.after(() => second.stop('SIGKILL'));
  const after = await eventually(async () => {
    const events = await eventsOf(second);
    assert.deepEqual(events.slice(0, before.length), before);
    for (const wanted of ['Service started', 'Bucket online'])
      assert.equal(events.filter(({ description }) => description === wanted).length, 2, wanted);
    return events;
  });
  const recorded = after.map(({ description }) => description);
  assert.equal(recorded.filter((text) => text === 'Bucket created').length, 1);
  const change = after.find(
    ({ extra_attributes }) => extra_attributes?.['operation'] === 'provisioning.stats',
  );
  assert.deepEqual(
    [change?.extra_attributes?.['user'], change?.extra_attributes?.['from']],
    ['Administrator', '127.0.0.1'],
  );
  const { list } = (await (await second.request('/logs')).json()) as { list: { text: string }[] };
  assert.equal(list.length, after.length);
  assert.ok(list.some(({ text }) => text === 'Bucket "b" is ready for clients.'));
});

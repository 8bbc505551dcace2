import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aManager } from '../../../test/support/manager.ts';

const path = '/settings/clientCertAuth';
const rule = { path: 'subject.cn', prefix: 'www.', delimiter: '.,;' };

test('requests no client certificates by default, and stores a change', async () => {
  const { request, manager, store } = await aManager();
  const read = async () => (await request(path)).body;
  assert.deepEqual(await read(), { state: 'disable', prefixes: [] });
  const wanted = { state: 'mandatory', prefixes: [rule, { ...rule, path: 'san.uri' }] };
  const set = () => request(path, { method: 'POST', json: wanted });
  assert.equal((await set()).status, 202);
  assert.equal((await set()).status, 200, 'nothing changed');
  assert.deepEqual(await read(), wanted);
  assert.equal(manager.tls.current()?.clients?.isDemanded, true);
  await manager.stop();
  const again = await aManager({ store, provisioned: false });
  assert.deepEqual((await again.request(path)).body, wanted);
  await again.manager.stop();
});

test('a field of a later version is kept, and does not count as a change', async (t) => {
  const wanted = { state: 'enable', prefixes: [rule] };
  const store = new MemoryConfigStore();
  await store.put('settings/clientCertAuth', { ...wanted, later: 1 }, 0);
  const { request, manager } = await aManager({ store });
  t.after(() => manager.stop());
  const set = async () => (await request(path, { method: 'POST', json: wanted })).status;
  assert.deepEqual((await request(path)).body, wanted);
  assert.equal(await set(), 200);
  wanted.state = 'mandatory';
  assert.deepEqual([await set(), await set()], [202, 200]);
  assert.deepEqual((await store.get('settings/clientCertAuth'))?.value, { ...wanted, later: 1 });
});

test('the node refuses invalid settings with the reason', async () => {
  const { request, manager } = await aManager();
  const eleven = Array.from({ length: 11 }, (_, index) => ({ ...rule, prefix: String(index) }));
  const cases: [unknown, unknown][] = [
    [[], 'Invalid JSON'],
    [{ state: 'enable' }, "Unsupported format: Must contain 'state' and 'prefixes' fields"],
    [{ prefixes: [] }, "Unsupported format: Must contain 'state' and 'prefixes' fields"],
    [{ state: 1, prefixes: [] }, 'Invalid JSON'],
    [
      { state: 'disable', prefixes: [], more: 1 },
      "Unsupported fields: Must contain 'state' and 'prefixes' fields only",
    ],
    [{ state: 'enable', prefixes: eleven }, 'Maximum number of prefixes supported is 10'],
    [{ state: 'maybe', prefixes: [rule] }, ["Invalid value 'maybe' for key 'state'"]],
    [{ state: 'enable', prefixes: [] }, ["'prefixes' cannot be empty when the 'state' is 'enable'"]],
    [{ state: 'enable', prefixes: [{ ...rule, path: 'san.ip' }] }, ["Invalid value 'san.ip' for key 'path'"]],
    [
      { state: 'enable', prefixes: [{ path: 'subject.cn' }] },
      [`Invalid prefixes entry ({"path":"subject.cn"}). Must contain 'path', 'prefix' & 'delimiter' fields.`],
    ],
    [
      { state: 'enable', prefixes: [rule, rule] },
      ['Multiple entries with same path & prefix (["subject.cn","www."]) are not allowed'],
    ],
  ];
  for (const [json, text] of cases) {
    const { status, body } = await request(path, { method: 'POST', json });
    assert.deepEqual([status, body], [400, text]);
  }
  assert.equal((await request(path, { raw: '{' })).body, 'Invalid JSON');
  assert.equal(
    (await request(path, { method: 'POST', json: { state: 'enable', prefixes: eleven.slice(1) } })).status,
    202,
  );
  await manager.stop();
});

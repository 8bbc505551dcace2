import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetMapOf } from './target-map.ts';

const bucket = {
  uuid: 'u',
  nodesExt: [
    { services: { mgmt: 8091, mgmtSSL: 18091, kv: 11210, kvSSL: 11207 } },
    {
      hostname: 'two',
      services: { mgmt: 1, mgmtSSL: 2, kv: 3, kvSSL: 4 },
      alternateAddresses: { external: { hostname: 'out', ports: { kv: 5, kvSSL: 6 } } },
    },
  ],
  vBucketServerMap: { vBucketMap: [[1, 0], [0], []] },
};

test('the mode of the reference decides which ports are used', () => {
  const authority = 'pem';
  for (const [access, hosts, ports] of [
    [{ encryptsData: false }, ['one:8091', 'two:1'], [11_210, 3]],
    [{ authority, encryptsData: false }, ['one:18091', 'two:2'], [11_210, 3]],
    [{ authority, encryptsData: true }, ['one:18091', 'two:2'], [11_207, 4]],
  ] as const) {
    const map = targetMapOf(bucket, 'one', { ...access, usesAlternateAddresses: false });
    assert.deepEqual(map.hosts, hosts);
    assert.deepEqual(
      map.nodes.map(({ port }) => port),
      ports,
    );
    assert.deepEqual(map.actives, [1, 0, -1]);
  }
});

test('alternate addresses are used for all ports if the reference says so; one without a REST port has that of its node', () => {
  const access = { authority: 'pem', encryptsData: true, usesAlternateAddresses: true };
  const { nodes, hosts } = targetMapOf(bucket, 'one', access);
  assert.deepEqual(nodes[1], { host: 'out', port: 6 });
  assert.deepEqual(hosts, ['one:18091', 'out:2']);
  const nodesExt = bucket.nodesExt.map((node) => ({
    ...node,
    alternateAddresses: { external: { hostname: 'fd00::1', ports: { kv: 5, mgmt: 7, mgmtSSL: 8 } } },
  }));
  assert.deepEqual(targetMapOf({ ...bucket, nodesExt }, 'one', access).hosts, ['[fd00::1]:8', '[fd00::1]:8']);
  assert.deepEqual(
    targetMapOf({ ...bucket, nodesExt }, 'one', { encryptsData: false, usesAlternateAddresses: true }).hosts,
    ['[fd00::1]:7', '[fd00::1]:7'],
  );
});

test('nodes without a name are at the host that sent the configuration', () => {
  const services = { mgmt: 9, kv: 10 };
  const nodesExt = [{ services }, { hostname: '$HOST', services }];
  const map = targetMapOf({ ...bucket, nodesExt }, '::1', {
    encryptsData: false,
    usesAlternateAddresses: false,
  });
  assert.deepEqual(map.hosts, ['[::1]:9', '[::1]:9']);
  assert.deepEqual(
    map.nodes.map(({ host }) => host),
    ['::1', '::1'],
  );
});

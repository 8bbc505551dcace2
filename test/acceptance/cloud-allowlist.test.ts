// Allowlists of the cloud, which the nodes enforce: checked with the official SDK and with sockets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAdmitted } from '../support/admission.ts';
import { aCluster, type CloudCluster } from '../support/cloud-cluster.ts';
import { CloudProcess } from '../support/cloud-process.ts';
import { needs } from '../support/needs.ts';
import { eventually } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const skip = needs('loopback addresses');
const here = { cidrBlock: '127.0.0.1/32', ruleType: 'permanent' };
const kvPort = 11210;

async function admits({ connectionString }: CloudCluster, localAddress = '127.0.0.1'): Promise<boolean> {
  const [, host] = connectionString.split('://');
  return await isAdmitted({ host: host as string, port: kvPort, localAddress }, 'data');
}

test('admits no client until an entry includes its address', { skip }, async () => {
  await using cloud = await CloudProcess.start();
  const cluster = await aCluster(cloud, { isOpen: false });
  const { path, connectionString } = cluster;
  assert.deepEqual((await cloud.request('GET', `${path}/allowlist`)).body, []);
  assert.equal(await admits(cluster), false);
  const bucket = { name: 'b', memoryQuota: 100, replicas: 0 };
  assert.equal((await cloud.request('POST', `${path}/buckets`, bucket)).status, 201);
  const user = { username: 'app', password: 'correct-Horse-7', allBucketsAccess: 'data_writer' };
  assert.equal((await cloud.request('POST', `${path}/users`, user)).status, 201);
  const timeouts = { connectTimeout: 1_500, bootstrapTimeout: 1_500 };
  await assert.rejects(connect(connectionString, { ...user, timeouts }));
  assert.equal((await cloud.request('POST', `${path}/allowlist`, { ...here, comment: 'me' })).status, 202);
  const [entry] = (await cloud.request('GET', `${path}/allowlist`)).body;
  assert.deepEqual(
    [entry.cidrBlock, entry.ruleType, entry.state, entry.comment],
    ['127.0.0.1/32', 'permanent', 'active', 'me'],
  );
  const app = await connect(connectionString, user);
  await app.bucket('b').defaultCollection().upsert('d', 1);
  assert.equal(
    (await cloud.request('DELETE', `${path}/allowlist`, { cidrBlock: '127.0.0.1/32' })).status,
    204,
  );
  await assert.rejects(app.bucket('b').defaultCollection().upsert('d', 2, { timeout: 1_000 }));
  await app.close();
  assert.equal(await admits(cluster), false);
});

test('the cloud replaces the allowlist at once, and removes temporary entries when they expire', {
  skip,
}, async () => {
  await using cloud = await CloudProcess.start();
  const cluster = await aCluster(cloud);
  const list = `${cluster.path}/allowlist`;
  assert.equal(await admits(cluster), true);
  assert.equal(await admits(cluster, '127.3.3.3'), false);
  const replaceBy = async (duration: string): Promise<void> => {
    const replaced = await cloud.request('PUT', list, [
      { cidrBlock: '127.3.0.0/16', ruleType: 'temporary', duration },
      { cidrBlock: 'fd00::/8', ruleType: 'permanent' },
    ]);
    assert.equal(replaced.status, 202, JSON.stringify(replaced.body));
  };
  await replaceBy('1h0m0s');
  assert.equal(await admits(cluster), false);
  assert.equal(await admits(cluster, '127.3.3.3'), true);
  const { body } = await cloud.request('GET', list);
  assert.deepEqual(
    body.map(({ cidrBlock, duration, state }: Record<string, string>) => [cidrBlock, duration, state]),
    [
      ['127.3.0.0/16', '1h0m0s', 'active'],
      ['fd00::/8', undefined, 'active'],
    ],
  );
  await replaceBy('0h0m1s');
  await eventually(async () => assert.equal(await admits(cluster, '127.3.3.3'), false));
  assert.equal((await cloud.request('GET', list)).body[0].state, 'expired');
  const again = { cidrBlock: '127.3.0.0/16', ruleType: 'permanent' };
  assert.equal((await cloud.request('POST', list, again)).status, 202);
  assert.equal(await admits(cluster, '127.3.3.3'), true);
});

test('the cloud keeps the allowlist when nodes and the cloud are killed', { skip }, async () => {
  await using cloud = await CloudProcess.start();
  const cluster = await aCluster(cloud);
  for (const pid of cloud.nodePids()) process.kill(pid, 'SIGKILL');
  await eventually(async () => assert.equal(await admits(cluster), true));
  assert.equal(await admits(cluster, '127.3.3.3'), false);
  await cloud.stop('SIGKILL');
  assert.equal(await admits(cluster), true);
  await using again = await CloudProcess.start({ dataDir: cloud.dataDir });
  assert.equal((await again.request('PUT', `${cluster.path}/allowlist`, [])).status, 202);
  assert.equal(await admits(cluster), false);
  await again.stop();
});

test('the cloud refuses entries of the allowlist that are malformed, duplicate or lack their duration', async () => {
  await using cloud = await CloudProcess.start();
  const { path } = await aCluster(cloud);
  const list = `${path}/allowlist`;
  const block = 'must be an IPv4 or IPv6 address or network such as 10.1.0.0/16';
  const rule = 'must be one of temporary, permanent';
  const time = 'must be a time such as 1h0m0s, from one second to ten years';
  const temporary = { cidrBlock: '1.2.3.4/32', ruleType: 'temporary' };
  const refusals: [method: string, body: unknown, status: number, message: string][] = [
    ['POST', { ...here, cidrBlock: '1.2.3' }, 422, `cidrBlock: ${block}`],
    ['POST', { ...here, cidrBlock: '1.2.3.4/33' }, 422, `cidrBlock: ${block}`],
    ['POST', { ruleType: 'permanent' }, 422, `cidrBlock: is missing: it ${block}`],
    [
      'POST',
      here,
      422,
      'cidrBlock: there is an entry for 127.0.0.1/32 already; delete it first, or replace the list',
    ],
    ['POST', { cidrBlock: '1.2.3.4/32' }, 422, `ruleType: is missing: it ${rule}`],
    ['POST', { ...here, ruleType: 'eternal' }, 422, `ruleType: ${rule}`],
    [
      'POST',
      temporary,
      422,
      'duration: is missing: it must be given with a temporary entry, and with no other',
    ],
    [
      'POST',
      { cidrBlock: '1.2.3.4/32', ruleType: 'permanent', duration: '1h' },
      422,
      'duration: must be given with a temporary entry, and with no other',
    ],
    ['POST', { ...temporary, duration: '1d' }, 422, `duration: ${time}`],
    ['POST', { ...temporary, duration: '0s' }, 422, `duration: ${time}`],
    ['POST', { ...here, comment: 1 }, 422, 'comment: must be a string of 0 to 1024 characters'],
    ['PUT', [here, here], 422, 'body: must name each cidrBlock once, in whatever spelling'],
    ['PUT', here, 422, 'body: must be a list of entries'],
    ['PUT', [here, { cidrBlock: '1.2.3.4/32' }], 422, `1.ruleType: is missing: it ${rule}`],
    ['DELETE', { cidrBlock: '9.9.9.9/32' }, 404, 'there is no entry for 9.9.9.9/32'],
    ['DELETE', {}, 422, `cidrBlock: is missing: it ${block}`],
  ];
  for (const [method, body, status, message] of refusals) {
    const answer = await cloud.request(method, list, body);
    assert.deepEqual(
      [answer.status, answer.body.message],
      [status, message],
      `${method} ${JSON.stringify(body)}`,
    );
  }
  const entries = (await cloud.request('GET', list)).body;
  assert.equal(entries.length, 1);
  assert.equal((await cloud.request('PUT', list, entries)).status, 202);
});

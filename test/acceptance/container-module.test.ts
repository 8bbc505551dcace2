// The calls with which the published container module sets up a node with the services kv, index and n1ql, in its order and with its
// fields, and its checks of the answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueryScanConsistency } from 'couchbase';
import type { NodeAddresses } from '../../src/main/ready.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { Relay } from '../support/relay.ts';
import { connect } from '../support/sdk.ts';

const { username, password } = administrator;
const withAccount = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
const bucket = 'mybucket';

/** The module's name of each port, and the name of its address in the ready file. */
const mappedPorts = {
  mgmt: 'rest',
  mgmtSSL: 'restTls',
  kv: 'kv',
  capi: 'capi',
  kvSSL: 'kvTls',
  capiSSL: 'capiTls',
  n1ql: 'query',
  n1qlSSL: 'queryTls',
} as const;

class ContainerModule {
  private readonly rest: string;
  private readonly query: string;

  /** `ports`: the mapped ones; the module knows no others. */
  constructor(ports: Readonly<Record<string, string>>) {
    this.rest = `http://localhost:${ports['mgmt']}`;
    this.query = `http://localhost:${ports['n1ql']}`;
  }

  /** The module sends the account with each GET, also before the node has it. */
  get = (path: string) => accepted(fetch(`${this.rest}${path}`, { headers: withAccount }));

  send = (method: string, path: string, fields: Record<string, string>, headers = {}) =>
    accepted(fetch(`${this.rest}${path}`, { method, headers, body: new URLSearchParams(fields) }));

  ping = () => accepted(fetch(`${this.query}/admin/ping`, { headers: withAccount }));

  async ask(statement: string): Promise<Record<string, unknown> | undefined> {
    const body = new URLSearchParams({ statement });
    const { results } = (await accepted(
      fetch(`${this.query}/query/service`, { method: 'POST', headers: withAccount, body }),
    )) as { results: Record<string, unknown>[] };
    return results[0];
  }
}

/** The module accepts an answer with any status from 200 to 299. Empty answers become null. */
async function accepted(sent: Promise<Response>) {
  const answer = await sent;
  const text = await answer.text();
  assert.ok(answer.ok, `${answer.url}: ${answer.status} ${text}`);
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

test('the container module sets up a bucket with a primary index, which an SDK uses through the mapped ports', async () => {
  await using node = await NodeProcess.start({ unprovisioned: true });
  const mapped = await Promise.all(
    Object.entries(mappedPorts).map(async ([name, member]) => {
      const address = String(node.ready.node[member as keyof NodeAddresses]);
      return [name, await Relay.open(Number(address.slice(address.lastIndexOf(':') + 1)))] as const;
    }),
  );
  const ports = Object.fromEntries(mapped.map(([name, { port }]) => [name, String(port)]));
  const module = new ContainerModule(ports);
  try {
    assert.equal((await module.get('/pools')).isEnterprise, true);
    const topology = await module.get('/pools/default/nodeServices');
    assert.ok('mgmtSSL' in topology.nodesExt[0].services);
    await module.send('POST', '/node/controller/rename', { hostname: '127.0.0.1' });
    await module.send('POST', '/node/controller/setupServices', { services: 'kv,n1ql,index' });
    await module.send('POST', '/pools/default', { memoryQuota: '256', indexMemoryQuota: '256' });
    // The module sends 8091, the node's port in a container.
    const { port } = new URL(node.ready.node.rest);
    await module.send('POST', '/settings/web', { username, password, port });
    const external = { hostname: 'localhost', ...ports };
    await module.send('PUT', '/node/controller/setupAlternateAddresses/external', external, withAccount);
    await module.send('POST', '/settings/indexes', { storageMode: 'memory_optimized' }, withAccount);
    await eventually(async () => {
      assert.equal((await module.get('/pools/default')).nodes[0].status, 'healthy');
      await module.ping();
    });
    await createBucket(module);
    await useSdk(ports['kv'] as string);
  } finally {
    for (const [, relay] of mapped) await relay[Symbol.asyncDispose]();
  }
});

async function createBucket(module: ContainerModule): Promise<void> {
  const fields = { name: bucket, ramQuotaMB: '100', flushEnabled: '0', replicaNumber: '0' };
  await module.send('POST', '/pools/default/buckets', fields, withAccount);
  await eventually(async () => {
    const { nodesExt } = await module.get(`/pools/default/b/${bucket}`);
    for (const { services } of nodesExt)
      for (const service of ['kv', 'n1ql', 'index'])
        assert.ok(
          Object.keys(services).some((name) => name.startsWith(service)),
          service,
        );
  });
  const statement = `SELECT COUNT(*) > 0 as present FROM system:keyspaces WHERE name = "${bucket}"`;
  await eventually(async () => assert.equal((await module.ask(statement))?.['present'], true));
  await module.ask(`CREATE PRIMARY INDEX on \`${bucket}\``);
  const online = `SELECT count(*) > 0 AS online FROM system:indexes where keyspace_id = "${bucket}" and is_primary = true and state = "online"`;
  await eventually(async () => assert.equal((await module.ask(online))?.['online'], true));
}

/** Uses the SDK with the alternate addresses of the node, which are the mapped ports. */
async function useSdk(kvPort: string): Promise<void> {
  const cluster = await connect(`couchbase://localhost:${kvPort}?network=external`, administrator);
  try {
    await cluster.bucket(bucket).defaultCollection().upsert('mapped', { through: 'ports' });
    const { rows } = await cluster.query(`SELECT RAW d.through FROM \`${bucket}\` AS d`, {
      scanConsistency: QueryScanConsistency.RequestPlus,
    });
    assert.deepEqual(rows, ['ports']);
  } finally {
    await cluster.close();
  }
}

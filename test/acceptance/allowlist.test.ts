// The client allowlist on every port: the node closes connections before it reads a byte, at once and after a restart.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { isAdmitted, noOperation } from '../support/admission.ts';
import { needs } from '../support/needs.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';

const skip = needs('loopback addresses');
const [inside, outside] = ['127.0.0.1', '127.9.9.9'];

const urlOf = (address: string) => new URL(address.includes('://') ? address : `tcp://${address}`);

function connectFrom(localAddress: string, address: string): Socket {
  const { hostname, port } = urlOf(address);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on('error', () => {});
  return socket;
}

/** Whether the node closes a connection without a byte. */
async function isRefused(localAddress: string, name: string, address: string): Promise<boolean> {
  const { hostname, port } = urlOf(address);
  const protocol = name.endsWith('Tls') ? 'tls' : name === 'kv' ? 'data' : 'http';
  return !(await isAdmitted({ host: hostname, port: Number(port), localAddress }, protocol));
}

async function put(node: NodeProcess, entries: unknown): Promise<Response> {
  const { username, password } = administrator;
  return fetch(`${node.ready.node.rest}/settings/clientAllowlist`, {
    method: 'PUT',
    headers: {
      authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ entries }),
  });
}

test('the node refuses new connections from other addresses on every port, also after a restart, and closes open ones', {
  skip,
}, async () => {
  const args = ['--services', 'kv,index,n1ql,backup'];
  await using first = await NodeProcess.start({ args });
  const addresses = Object.entries(first.ready.node);
  for (const [name, address] of addresses) assert.equal(await isRefused(outside, name, address), false, name);
  const openSocket = connectFrom(outside, first.ready.node.kv);
  openSocket.write(noOperation);
  await once(openSocket, 'data');
  assert.equal((await put(first, [`${inside}/32`])).status, 200);
  if (!openSocket.destroyed) await once(openSocket.resume(), 'close');
  for (const [name, address] of addresses) {
    // Each thread that listens receives the list separately.
    await eventually(async () => assert.equal(await isRefused(outside, name, address), true, name));
    assert.equal(await isRefused(inside, name, address), false, name);
  }
  await first.stop();
  await using restarted = await NodeProcess.start({ args, dataDir: first.dataDir });
  for (const [name, address] of Object.entries(restarted.ready.node))
    assert.equal(await isRefused(outside, name, address), true, name);
  assert.deepEqual(await (await restarted.request('/settings/clientAllowlist')).json(), {
    enabled: true,
    entries: [`${inside}/32`],
  });
  assert.equal((await restarted.request('/settings/clientAllowlist', 'DELETE')).status, 200);
  await eventually(async () => assert.equal(await isRefused(outside, 'kv', restarted.ready.node.kv), false));
});

test('the node refuses a malformed allowlist, and one that would exclude its sender', {
  skip,
}, async () => {
  await using node = await NodeProcess.start();
  for (const [entries, message] of [
    ['127.0.0.1', /must be an array/],
    [['127.0.0.1/33'], /"127\.0\.0\.1\/33" is not/],
    [[7], /7 is not/],
    [Array.from({ length: 1_001 }, () => inside), /at most 1000/],
    [['10.0.0.0/8'], /127\.0\.0\.1, or it would lock you out/],
  ] as const) {
    const answer = await put(node, entries);
    assert.equal(answer.status, 400);
    assert.match(((await answer.json()) as { errors: { entries: string } }).errors.entries, message);
  }
  assert.equal(await isRefused(outside, 'kv', node.ready.node.kv), false);
});

test('a node with an operator address admits only that address until it has a list', {
  skip,
}, async () => {
  const operator = '127.255.0.1';
  await using node = await NodeProcess.start({ args: ['--operator-address', operator] });
  for (const [name, address] of Object.entries(node.ready.node)) {
    assert.equal(await isRefused(inside, name, address), true, name);
    assert.equal(await isRefused(operator, name, address), false, name);
  }
  const list = { method: 'PUT', json: { entries: [`${inside}/32`] } };
  assert.equal((await askFrom(operator, node, '/settings/clientAllowlist', list)).status, 200);
  for (const [name, address] of Object.entries(node.ready.node)) {
    await eventually(async () => assert.equal(await isRefused(inside, name, address), false, name));
    assert.equal(await isRefused(operator, name, address), false, name);
    assert.equal(await isRefused(outside, name, address), true, name);
  }
});

test('statements reach the query service through the REST port though the list lacks the address of the node', {
  skip,
}, async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  // Only the client's address is on the list: the node must admit its own connections without an entry.
  const clientAddress = '127.7.7.7';
  assert.equal(
    (await askFrom(clientAddress, node, '/settings/clientAllowlist', allowOnly(clientAddress))).status,
    200,
  );
  await eventually(async () =>
    assert.equal(await isRefused(inside, 'query', node.ready.node.query as string), true),
  );
  const statements = [
    'CREATE SCOPE b.s',
    'CREATE COLLECTION b.s.c',
    'UPSERT INTO b.s.c VALUES ("k", {"n": 1})',
    'SELECT c.n FROM b.s.c',
  ];
  const answers: unknown[] = [];
  for (const statement of statements) {
    const sent = { method: 'POST', json: { statement } };
    const { text } = await askFrom(clientAddress, node, '/_p/query/query/service', sent);
    const { status, results } = JSON.parse(text) as { status: string; results: unknown };
    answers.push(status, results);
  }
  assert.deepEqual(answers, ['success', [], 'success', [], 'success', [], 'success', [{ n: 1 }]]);
});

const allowOnly = (address: string) => ({ method: 'PUT', json: { entries: [`${address}/32`] } });

/** A request to the REST port from a local address. */
function askFrom(
  localAddress: string,
  node: NodeProcess,
  path: string,
  { method, json }: { method: string; json: unknown },
): Promise<{ status: number; text: string }> {
  const { username, password } = administrator;
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const sent = request(
    new URL(path, node.ready.node.rest),
    {
      method,
      localAddress,
      auth: `${username}:${password}`,
      agent: false,
      headers: { 'content-type': 'application/json' },
    },
    async (answer) => {
      let text = '';
      for await (const chunk of answer) text += chunk;
      resolve({ status: answer.statusCode ?? 0, text });
    },
  );
  sent.on('error', reject).end(JSON.stringify(json));
  return promise;
}

// Random and mutated frames and forms against a real node: it must not crash, hang or grow, and must not disturb others.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type Cluster, type Collection, connect } from 'couchbase';
import { type Prng, prng } from '#base/prng.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';

const seed = Number(process.env['DIVAN_TEST_SEED'] ?? Date.now() % 2 ** 31);
const frames = 10_000;
const requests = 3_000;
const growthLimitKb = 150_000;
const quietMs = 20;

describe(`hostile input, seed ${seed} (DIVAN_TEST_SEED)`, () => {
  let node: NodeProcess;
  let cluster: Cluster;
  let collection: Collection;

  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    collection = cluster.bucket('b').defaultCollection();
    await collection.upsert('calm', { v: 0 });
  });
  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
  });

  test('survives mutated and random frames on the data port', async () => {
    await beside(collection, node, () =>
      bombard(frames / 50, prng(seed), (random) => attackData(node.ready.node.kv, random, 50)),
    );
  });

  test('survives mutated and random requests on the REST port', async () => {
    const address = node.ready.node.rest.replace('http://', '');
    await beside(collection, node, () =>
      bombard(requests / 10, prng(seed + 1), (random) => attackRest(address, random, 10)),
    );
    assert.equal((await node.request('/pools/default/buckets/b')).status, 200);
  });
});

/** Runs an attack with a calm client beside it that must not notice, and checks that the node is as before. */
async function beside(collection: Collection, node: NodeProcess, attack: () => Promise<void>): Promise<void> {
  const done = { now: false };
  const before = residentKb(node.pid);
  const calm = calmly(collection, done);
  await attack();
  done.now = true;
  assert.ok((await calm) > 10, 'the calm client got nothing done');
  assert.ok(node.running, `the node ended: ${node.output.slice(-2000)}`);
  const grown = residentKb(node.pid) - before;
  assert.ok(grown < growthLimitKb, `the node grew by ${grown} kB`);
}

async function calmly(collection: Collection, done: { now: boolean }): Promise<number> {
  let rounds = 0;
  for (; !done.now; rounds++) {
    await collection.upsert(`calm-${rounds % 100}`, { rounds });
    assert.deepEqual((await collection.get(`calm-${rounds % 100}`)).content, { rounds });
  }
  return rounds;
}

async function bombard(rounds: number, random: Prng, attack: (random: Prng) => Promise<void>): Promise<void> {
  for (let i = 0; i < rounds; i += 4) {
    await Promise.all(Array.from({ length: 4 }, () => attack(prng(random.below(2 ** 31)))));
  }
}

/** Sends the bytes on a connection of its own and waits until the other side is quiet or closes. */
async function exchange(address: string, chunks: readonly Buffer[]): Promise<void> {
  const { socket, closed } = await open(address);
  for (const chunk of chunks) socket.write(chunk);
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, quietMs))]);
  socket.destroy();
}

async function open(address: string): Promise<{ socket: Socket; closed: Promise<unknown> }> {
  const [host, port] = address.split(':');
  const socket = connectSocket(Number(port), host);
  socket.on('error', () => {});
  socket.resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), closed]);
  return { socket, closed };
}

function attackData(address: string, random: Prng, count: number): Promise<void> {
  const session = random.below(4) === 0 ? [] : login;
  const attack = Array.from({ length: count }, () => mutate(aFrame(random), random));
  return exchange(address, [...session, ...attack]);
}

const frame = (
  opcode: number,
  parts: Partial<Record<'extras' | 'key' | 'value', Buffer>>,
  vb = 0,
): Buffer => {
  const { extras = Buffer.alloc(0), key = Buffer.alloc(0), value = Buffer.alloc(0) } = parts;
  const header = Buffer.alloc(24);
  header[0] = 0x80;
  header[1] = opcode;
  header.writeUInt16BE(key.length, 2);
  header[4] = extras.length;
  header.writeUInt16BE(vb, 6);
  header.writeUInt32BE(extras.length + key.length + value.length, 8);
  return Buffer.concat([header, extras, key, value]);
};

const plain = Buffer.from(`\0${administrator.username}\0${administrator.password}`);
const features = Buffer.from(
  [4, 6, 7, 8, 0x0a, 0x0b, 0x0e, 0x10, 0x11, 0x12, 0x14, 0x15, 0x17].flatMap((f) => [0, f]),
);
const login = [
  frame(0x1f, { key: Buffer.from('hostile'), value: features }),
  frame(0x21, { key: Buffer.from('PLAIN'), value: plain }),
  frame(0x89, { key: Buffer.from('b') }),
];

/** A frame that is nearly right: a known opcode with extras, key and value of likely sizes. */
function aFrame(random: Prng): Buffer {
  const opcode = random.below(3) === 0 ? random.below(256) : random.pick(likelyOpcodes);
  const extras = random.bytes(random.pick([0, 0, 1, 4, 8, 16, 20, 24, 28]));
  const key = Buffer.concat([Buffer.from([random.pick([0, 0, 0, 8, 0x80])]), random.bytes(random.below(20))]);
  const value = random.pick([
    () => Buffer.from('{"a":[1,2,{"b":"c"}]}'),
    () => random.bytes(random.below(200)),
    () => Buffer.concat([Buffer.from([0xc5, 0, 0, 1, 0x61]), random.bytes(random.below(30))]),
    () => Buffer.from('n,,n=Administrator,r=abc'),
    () => Buffer.alloc(random.below(70_000), 0x5b),
  ])();
  return frame(opcode, { extras, key, value }, random.pick([0, 1, 1023, 1024, 65535]));
}
const likelyOpcodes = [
  0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0a, 0x0e, 0x0f, 0x10, 0x1c, 0x1d, 0x1f, 0x20, 0x21, 0x22, 0x83,
  0x89, 0x91, 0x92, 0x94, 0x95, 0xa0, 0xb5, 0xb6, 0xba, 0xbb, 0xbc, 0xc5, 0xc8, 0xcb, 0xcf, 0xd0, 0xd1, 0xd3,
  0xfe,
];

function mutate(bytes: Buffer, random: Prng): Buffer {
  const mutated = Buffer.from(bytes);
  const kind = random.below(10);
  if (kind === 0) return random.bytes(random.below(64));
  if (kind === 1) return mutated.subarray(0, random.below(mutated.length));
  if (kind < 5) {
    const place = kind === 2 ? random.below(24) : random.below(mutated.length);
    mutated[place] = random.below(256);
  }
  return mutated;
}

async function attackRest(address: string, random: Prng, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await exchange(address, [mutate(aRequest(random), random)]);
}

function aRequest(random: Prng): Buffer {
  const method = random.pick(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'X']);
  const path =
    random.pick(paths) +
    random.pick(['', '/', '//', '/%', '/%2F..', '/%00', '?just_validate=1', '?a[b]=%ff', '?'.repeat(99)]);
  const body = aForm(random);
  const credentials = Buffer.from(`${administrator.username}:${administrator.password}`).toString('base64');
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    random.below(5) === 0 ? 'Authorization: Basic %%%' : `Authorization: Basic ${credentials}`,
    `Content-Type: ${random.pick(['application/x-www-form-urlencoded', 'application/json', 'text/plain', ''])}`,
    `Content-Length: ${random.pick([body.length, body.length, 0, 99999999, -1])}`,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** None of these must be able to delete the bucket that the calm client uses, or change the administrator. */
const paths = [
  '/pools',
  '/pools/default',
  '/pools/default/buckets',
  '/pools/default/buckets/zzz',
  '/pools/default/buckets/b/scopes',
  '/pools/default/buckets/b/scopes/x/collections',
  '/pools/default/b/b',
  '/pools/default/tasks',
  '/nodes/self',
  '/settings/rbac/users/local/hostile',
  '/settings/rbac/groups/hostile',
  '/pools/default/checkPermissions',
  '/node/controller/rename',
  '/node/controller/setupServices',
  '/clusterInit',
  '/whoami',
  '/nowhere',
];

function aForm(random: Prng): string {
  const names = [
    'name',
    'ramQuotaMB',
    'bucketType',
    'roles',
    'password',
    'hostname',
    'a[b]',
    '__proto__',
    'constructor',
    'replicaNumber',
  ];
  const values = [
    '',
    'hostile',
    '100',
    '-1',
    '1e99',
    'true',
    '%00',
    '%',
    '[',
    'x'.repeat(5000),
    'native',
    '\u0000',
  ];
  const pairs = Array.from({ length: random.below(6) }, () => `${random.pick(names)}=${random.pick(values)}`);
  return random.below(4) === 0 ? `{"${pairs.join('":"')}"}` : pairs.join('&');
}

const residentKb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

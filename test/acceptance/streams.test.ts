// Change streams of a real node with real files: a client goes on where it was after a clean restart, and after a
// kill rolls back exactly when it claims what the node has lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DcpClient, liveDocuments } from '../support/dcp-client.ts';
import { KvConnection } from '../support/kv-connection.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';

const args = ['--bucket', 'b'];
const vb = 7;

async function connect(node: NodeProcess): Promise<KvConnection> {
  const kv = await KvConnection.open(Number(node.ready.node.kv.split(':').at(-1)));
  await kv.hello([0x04, 0x06, 0x07, 0x0b, 0x10, 0x11, 0x12]);
  await kv.plain(administrator.username, administrator.password);
  assert.equal((await kv.select('b')).status, 0);
  return kv;
}

async function store(kv: KvConnection, key: string, isDurable: boolean): Promise<number> {
  const framing = isDurable ? { framing: Buffer.from([0x11, 0x03]) } : {};
  const body = { key: Buffer.from(`\0${key}`), value: Buffer.from(key), extras: Buffer.alloc(8) };
  const reply = await kv.ask({ opcode: 0x01, vb, ...body, ...framing });
  assert.equal(reply.status, 0);
  return Number(reply.extras.readBigUInt64BE(8));
}

test('a stream goes on after a clean stop, and after a kill rolls back exactly when it must', async (t) => {
  await using first = await NodeProcess.start({ args });
  const kv = await connect(first);
  for (let i = 0; i < 20; i++) await store(kv, `k${i}`, i === 19);
  const client = await new DcpClient(await connect(first)).open();
  await client.stream(vb);
  await client.reach([[vb, 20]]);
  await first.stop();

  await using second = await NodeProcess.start({ args, dataDir: first.dataDir });
  const again = await new DcpClient(await connect(second)).resume(client).open();
  assert.equal((await again.stream(vb)).status, 0, 'nothing was lost by a clean stop');
  const writer = await connect(second);
  assert.equal(await store(writer, 'durable', true), 21);
  await again.reach([[vb, 21]]);
  const kept = { ...again.copyOf(vb), documents: new Map(again.copyOf(vb).documents) };
  // Streams lead the disk: of what the client has seen when the node dies in the midst of writes, some is lost.
  const writing = storeUntilClosed(writer);
  await again.until(() => again.copyOf(vb).position >= 1000);
  await second.stop('SIGKILL');
  await Promise.all([writing, again.until(() => false).catch(() => {})]);
  const seen = again.copyOf(vb).position;

  await using third = await NodeProcess.start({ args, dataDir: first.dataDir });
  const whole = await new DcpClient(await connect(third)).open('whole');
  Object.assign(whole.copyOf(vb), kept);
  assert.equal((await whole.stream(vb)).status, 0, 'what it has was on disk');
  const high = await highSeqno(await connect(third));
  await whole.reach([[vb, high]]);

  const claims = await new DcpClient(await connect(third)).resume(again).open('claims');
  const reply = await claims.stream(vb);
  t.diagnostic(`lost ${seen - high} of ${seen}`);
  if (high >= seen) assert.equal(reply.status, 0, 'nothing was lost');
  else {
    assert.equal(reply.status, 0x23);
    const seqno = Number(reply.value.readBigUInt64BE(0));
    assert.ok(seqno <= high, 'not above what is left');
    assert.equal((await claims.stream(vb, { start: seqno })).status, 0);
  }
  const fresh = await new DcpClient(await connect(third)).open('fresh');
  await fresh.stream(vb);
  await fresh.reach([[vb, high]]);
  assert.deepEqual(sorted(whole), sorted(fresh));
});

async function storeUntilClosed(kv: KvConnection): Promise<void> {
  const extras = Buffer.alloc(8);
  let isOpen = true;
  for (let i = 0; isOpen; i++) {
    kv.send({
      opcode: 0x01,
      vb,
      key: Buffer.from(`\0fleeting${i % 3000}`),
      value: Buffer.from(`${i}`),
      extras,
    });
    isOpen = i < 50 || (await kv.next()) !== null;
  }
}

async function highSeqno(kv: KvConnection): Promise<number> {
  const { value } = await kv.ask({ opcode: 0x48 });
  for (let at = 0; at < value.length; at += 10) {
    if (value.readUInt16BE(at) === vb) return Number(value.readBigUInt64BE(at + 2));
  }
  throw new Error('the vbucket is not there');
}

const sorted = (client: DcpClient): [string, string][] => [...liveDocuments(client.copyOf(vb))].sort();

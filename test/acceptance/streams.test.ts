// Change streams of a real node with real files, over its sockets: a client reads a bucket from the start, continues where
// it was disconnected, and after a kill of the node rolls back exactly when it has changes that the node lost.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { dataClient, set } from '../support/data-client.ts';
import { DcpClient, liveDocuments } from '../support/dcp-client.ts';
import type { KvConnection } from '../support/kv-connection.ts';
import { needs } from '../support/needs.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Opcode } from '../support/opcodes.ts';

const args = ['--bucket', 'b'];
const vb = 7;
const vbuckets = 1024;
const features = [
  Feature.mutationSeqno,
  Feature.xattr,
  Feature.xerror,
  Feature.json,
  Feature.altRequest,
  Feature.syncReplication,
  Feature.collections,
];
/** Flags of DCP_OPEN: the node sends changes (0x01), with extended attributes (0x04). */
const producerFlags = 0x05;
const { success, rollback } = Status;
/** Framing of a durable write: durability level 3 (persistToMajority). */
const persistToMajority = Buffer.from([0x11, 3]);

/** Opens a connection for change streams, which continues those of `last`; `buffer`: how many unacknowledged bytes the node may send. */
const follow = async (
  node: NodeProcess,
  name: string,
  last?: DcpClient,
  buffer?: string,
): Promise<DcpClient> => {
  const client = new DcpClient(await dataClient(node, 'b', features));
  if (last) client.resume(last);
  return await client.open(
    name,
    producerFlags,
    buffer === undefined ? {} : { connection_buffer_size: buffer },
  );
};

async function store(kv: KvConnection, key: string, isDurable: boolean): Promise<number> {
  const reply = await kv.ask(set(key, key, { vb, ...(isDurable && { framing: persistToMajority }) }));
  assert.equal(reply.status, success);
  return Number(reply.extras.readBigUInt64BE(8));
}

/** Sends all SETs at once and records them in the model. */
async function storeAll(
  kv: KvConnection,
  model: Map<string, string>,
  sets: readonly [number, string, string][],
) {
  const requests = sets.map(([to, key, value]) => {
    model.set(`${to}/\0${key}`, value);
    return set(key, value, { vb: to });
  });
  kv.send(...requests);
  for (const _ of requests) assert.equal((await kv.next())?.status, success);
}

/** A row of GET_ALL_VB_SEQNOS: the number of a vbucket and its seqno. */
const rowBytes = 2 + 8;

async function highSeqnos(kv: KvConnection): Promise<Map<number, number>> {
  const { value } = await kv.ask({ opcode: Opcode.getAllVbSeqnos });
  const seqnos = new Map<number, number>();
  for (let at = 0; at < value.length; at += rowBytes) {
    seqnos.set(value.readUInt16BE(at), Number(value.readBigUInt64BE(at + 2)));
  }
  return seqnos;
}

const highSeqno = async (node: NodeProcess): Promise<number> =>
  (await highSeqnos(await dataClient(node, 'b', features))).get(vb) ?? -1;

/** The failover log of the vbucket, newest entry first. */
async function failoverLog(node: NodeProcess): Promise<{ uuid: bigint; seqno: number }[]> {
  const { value } = await (await dataClient(node, 'b', features)).ask({ opcode: Opcode.getFailoverLog, vb });
  return Array.from({ length: value.length / 16 }, (_, i) => ({
    uuid: value.readBigUInt64BE(16 * i),
    seqno: Number(value.readBigUInt64BE(16 * i + 8)),
  }));
}

/** The seqno to which the client must roll back; -1 when it may continue. */
async function rollbackOf(client: DcpClient): Promise<number> {
  const { status, value } = await client.stream(vb);
  assert.ok(status === success || status === rollback, `status ${status}`);
  return status === success ? -1 : Number(value.readBigUInt64BE(0));
}

function copiesOf(client: DcpClient): Map<string, string> {
  const entries = [...client.copies].flatMap(([at, copy]) =>
    [...liveDocuments(copy)].map(([key, value]) => [`${at}/${key}`, value] as const),
  );
  return new Map(entries.sort());
}

const sorted = (model: Map<string, string>): Map<string, string> => new Map([...model].sort());

test('a client that is disconnected within a snapshot continues from its position', async () => {
  await using node = await NodeProcess.start({ args });
  const kv = await dataClient(node, 'b', features);
  const model = new Map<string, string>();
  // The large vbucket last, or its stream would end before the others are open.
  const all = Array.from({ length: vbuckets }, (_, i) => (i + vb + 1) % vbuckets);
  await storeAll(
    kv,
    model,
    all.map((to) => [to, 'first', `${to}`]),
  );
  const many = Array.from({ length: 2000 }, (_, i) => i);
  await storeAll(
    kv,
    model,
    many.map((i) => [vb, `k${i}`, `old ${i}`]),
  );
  await store(kv, 'durable', true);
  model.set(`${vb}/\0durable`, 'durable');

  const first = await follow(node, 'first', undefined, '2000');
  first.ackBytes = 1000;
  for (const at of all) assert.equal((await first.stream(at)).status, success);
  const cut = first.copyOf(vb);
  await first.until(() => cut.position > 1000);
  first.connection.close();
  assert.ok(
    cut.snapStart < cut.position && cut.position < cut.snapEnd,
    'the client was not disconnected within a snapshot',
  );

  // Keys on both sides of the client's position move to seqnos after its incomplete snapshot.
  await storeAll(
    kv,
    model,
    many.filter((i) => i % 3 === 0).map((i) => [vb, `k${i}`, `new ${i}`]),
  );
  const second = await follow(node, 'second', first, '20000');
  second.ackBytes = 5000;
  const before = cut.position;
  for (const at of all) assert.equal((await second.stream(at)).status, success, `vbucket ${at}`);
  await second.reach([...(await highSeqnos(kv))]);
  assert.deepEqual(copiesOf(second), sorted(model));
  assert.ok(
    second.changes.every((change) => change.vb !== vb || change.seqno > before),
    'the node sends changes again that the client has',
  );
});

test('a stream continues after a clean stop, and after a kill matches the data of the node', async (t) => {
  await using first = await NodeProcess.start({ args });
  const kv = await dataClient(first, 'b', features);
  for (let i = 0; i < 20; i++) await store(kv, `k${i}`, i === 19);
  const client = await follow(first, 'client');
  await client.stream(vb);
  await client.reach([[vb, 20]]);
  await first.stop();

  await using second = await NodeProcess.start({ args, dataDir: first.dataDir });
  const again = await follow(second, 'client', client);
  assert.equal(await rollbackOf(again), -1, 'a clean stop loses nothing, so the client must not roll back');
  const writer = await dataClient(second, 'b', features);
  assert.equal(await store(writer, 'durable', true), 21);
  await again.reach([[vb, 21]]);
  const onDisk = { ...again.copyOf(vb), documents: new Map(again.copyOf(vb).documents) };
  // Streams are ahead of the disk: a kill during writes loses some changes that the client has seen.
  const writing = storeUntilClosed(writer);
  await again.until(() => again.copyOf(vb).position >= 1000);
  await second.stop('SIGKILL');
  // Only the end of the connection may end the reading: a message against the protocol fails the test.
  await Promise.all([
    writing,
    assert.rejects(
      again.until(() => false),
      /: the connection was closed$/,
    ),
  ]);
  const seen = again.copyOf(vb).position;

  await using third = await NodeProcess.start({ args, dataDir: first.dataDir });
  const high = await highSeqno(third);
  t.diagnostic(`lost ${seen - high} of ${seen}`);
  const whole = await follow(third, 'whole');
  Object.assign(whole.copyOf(vb), onDisk);
  assert.equal(await rollbackOf(whole), -1, 'all changes of the client were on disk before the kill');
  await whole.reach([[vb, high]]);
  const seqno = await rollbackOf(await follow(third, 'claims', again));
  assert.ok(high < seen ? seqno >= 0 && seqno <= high : seqno === -1, `${seqno} at ${high}`);
  const fresh = await follow(third, 'fresh');
  await fresh.stream(vb);
  await fresh.reach([[vb, high]]);
  assert.deepEqual(copiesOf(whole), copiesOf(fresh));
});

/** Writes with some requests in flight until the connection ends. */
async function storeUntilClosed(kv: KvConnection): Promise<void> {
  const [keys, inFlight] = [3000, 50];
  let isOpen = true;
  for (let i = 0; isOpen; i++) {
    kv.send(set(`fleeting${i % keys}`, String(i), { vb }));
    isOpen = i < inFlight || (await kv.next()) !== null;
  }
}

test('after a kill each client rolls back to its common history with the node, and only if it must', {
  skip: needs('compiler'),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-hold-'));
  const library = join(folder, 'failing-sync.so');
  const source = new URL('../support/failing-sync.c', import.meta.url).pathname;
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']);
  const holdSync = join(folder, 'hold');
  try {
    const environment = { LD_PRELOAD: library, DIVAN_HOLD_SYNC: holdSync };
    await using first = await NodeProcess.start({ args, environment });
    const kv = await dataClient(first, 'b', features);
    for (let i = 1; i <= 20; i++) await store(kv, `k${i}`, i === 20);
    const [ahead, onDisk, inKeptSnapshot] = [
      await follow(first, 'a'),
      await follow(first, 'm'),
      await follow(first, 't', undefined, '500'),
    ];
    for (const client of [ahead, onDisk, inKeptSnapshot]) assert.equal(await rollbackOf(client), -1);
    for (const client of [ahead, onDisk]) await client.reach([[vb, 20]]);
    // The existing changes fill this client's buffer; later ones wait and form one snapshot.
    const inLostSnapshot = await follow(first, 'h', undefined, `${onDisk.unacked}`);
    assert.equal(await rollbackOf(inLostSnapshot), -1);
    await inLostSnapshot.reach([[vb, 20]]);
    await inKeptSnapshot.until(() => inKeptSnapshot.copyOf(vb).position > 2);
    // The disk blocks within the commit of seqno 21: later acknowledged changes are only in memory.
    writeFileSync(holdSync, '');
    await store(kv, 'unacknowledged', false);
    await eventually(() => assert.ok(existsSync(`${holdSync}.held`)));
    for (let i = 22; i <= 40; i++) await store(kv, `lost${i}`, false);
    await ahead.reach([[vb, 40]]);
    const { position, snapEnd } = inKeptSnapshot.copyOf(vb);
    assert.ok(position < 20 && snapEnd === 20, 'the client has no part of the snapshot that will stay');
    const copy = inLostSnapshot.copyOf(vb);
    inLostSnapshot.acknowledge();
    await inLostSnapshot.until(() => copy.position >= 22);
    assert.deepEqual(
      [copy.snapStart, copy.snapEnd],
      [21, 40],
      'the client has no part of the snapshot that will be lost',
    );
    await first.stop('SIGKILL');
    rmSync(holdSync);

    await using second = await NodeProcess.start({ args, dataDir: first.dataDir });
    const high = await highSeqno(second);
    assert.ok(high === 20 || high === 21, `${high}: only the interrupted commit may exist, nothing after it`);
    const log = await failoverLog(second);
    assert.deepEqual(
      log.map(({ seqno }) => seqno),
      [high, 0],
    );
    assert.equal(log[1]?.uuid, ahead.copyOf(vb).uuid);
    assert.notEqual(log[0]?.uuid, log[1]?.uuid);
    // Other changes reuse the lost seqnos: only the history distinguishes them.
    const writer = await dataClient(second, 'b', features);
    for (let i = high + 1; i <= 45; i++) assert.equal(await store(writer, `new${i}`, i === 45), i);
    assert.equal(
      await rollbackOf(await follow(second, 'a', ahead)),
      high,
      'the client has changes that the node lost',
    );
    assert.equal(
      await rollbackOf(await follow(second, 'h', inLostSnapshot)),
      high,
      'the client has a part of the lost changes',
    );
    assert.equal(
      await rollbackOf(await follow(second, 't', inKeptSnapshot)),
      -1,
      'the node has the rest of the snapshot of the client',
    );
    const kept = await follow(second, 'm', onDisk);
    assert.equal(await rollbackOf(kept), -1, 'all changes of the client were on disk');
    await kept.reach([[vb, 45]]);
    await second.stop('SIGKILL');

    await using third = await NodeProcess.start({ args, dataDir: first.dataDir });
    assert.equal(await highSeqno(third), 45);
    assert.deepEqual(
      (await failoverLog(third)).map(({ seqno }) => seqno),
      [45, high, 0],
    );
    const again = await follow(third, 'm', kept);
    assert.equal(await rollbackOf(again), -1, 'all changes of the client were on disk after the second kill');
    const fresh = await follow(third, 'f');
    assert.equal(await rollbackOf(fresh), -1);
    await fresh.reach([[vb, 45]]);
    assert.deepEqual(copiesOf(again), copiesOf(fresh));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

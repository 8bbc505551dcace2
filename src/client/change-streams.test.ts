import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { EndReason, EventKind } from '#wire/dcp.ts';
import { PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { aBucket, aDesired, startService } from '../../test/support/data-service.ts';
import { eventually } from '../../test/support/node-process.ts';
import { storing } from '../../test/support/storing.ts';
import {
  addressOf,
  adminAccount,
  bucketClient,
  requestStream,
  SeenChanges,
} from '../../test/support/wire-clients.ts';
import { ChangeConnection } from './change-connection.ts';
import { ChangeFollower } from './change-follower.ts';
import { vbucketCount, vbucketOf } from './document-key.ts';

/** Id of the collection `orders`. */
const orders = 8;
const everyVbucket = Array.from({ length: vbucketCount }, (_, vb) => vb);

const optionsFor = (port: number, seen: SeenChanges, collections?: number[]) => ({
  address: addressOf(port),
  account: adminAccount,
  bucket: 'b',
  name: 'test',
  withXattrs: true,
  handler: seen,
  ...(collections && { collections }),
});

test('a client receives existing and later changes of the requested collections', async () => {
  await using service = await startService();
  const client = await bucketClient(service.port);
  await client.storeMany(orders, [storing('a', '{"n":1}')]);
  await client.storeMany(0, [storing('b', '2')]);
  const seen = new SeenChanges();
  const connection = await ChangeConnection.open(optionsFor(service.port, seen, [orders]));
  await Promise.all(everyVbucket.map((vb) => requestStream(connection, seen, vb)));
  const attribute = {
    opcode: SubdocOpcode.dictUpsert,
    flags: PathFlag.xattr,
    path: 'x',
    value: Buffer.from('1'),
  };
  await client.storeMany(orders, [storing('a', '', { parts: { writes: [attribute], docFlags: 0 } })]);
  // The server may skip a superseded version.
  await eventually(() => assert.ok(seen.changes.some(({ xattrBytes }) => xattrBytes > 0)));
  await client.storeMany(orders, [storing('a', '', { kind: 'remove' })]);
  await eventually(() => assert.equal(seen.changes.at(-1)?.kind, 'deletion'));
  const received = seen.changes.map(({ kind, vb, key, body }) => [kind, vb, key, body]);
  const vb = vbucketOf('a');
  assert.deepEqual(received.at(0), ['mutation', vb, 'a', '{"n":1}']);
  assert.deepEqual(received.at(-1), ['deletion', vb, 'a', '']);
  assert.ok(seen.changes.every(({ key }) => key === 'a'));
  assert.ok(seen.changes.some(({ body, xattrBytes }) => body === '{"n":1}' && xattrBytes > 0));
  const high = (await client.highSeqnos())[vb];
  assert.equal(seen.positionOf(vb).seqno, high);
  client.close();
  connection.close();
});

test('flow control: the server stops at a paused client and continues after it resumes', async () => {
  await using service = await startService();
  const client = await bucketClient(service.port);
  const text = JSON.stringify('x'.repeat(20_000));
  const keys = Array.from({ length: 1_000 }, (_, index) => `k${index}`);
  await client.storeMany(
    0,
    keys.map((key) => storing(key, text)),
  );
  const seen = new SeenChanges();
  const connection = await ChangeConnection.open(optionsFor(service.port, seen));
  seen.drained = () => {
    if (seen.changes.length > 10 && seen.changes.length < 500) connection.pause();
  };
  // Replies to later requests also wait for the resume.
  const streams = everyVbucket.map((vb) => requestStream(connection, seen, vb));
  await eventually(() => assert.ok(seen.changes.length > 10));
  const paused = seen.changes.length;
  assert.ok(paused < 500, `${paused} changes came before the pause`);
  const bytesUnacked = await unackedBytes(client);
  assert.ok(
    bytesUnacked >= 0 && bytesUnacked <= (4 << 20) + 64 * 1024,
    `${bytesUnacked} bytes are unacknowledged`,
  );
  seen.drained = () => {};
  connection.resume();
  await Promise.all(streams);
  await eventually(() => assert.equal(new Set(seen.changes.map(({ key }) => key)).size, 1_000));
  client.close();
  connection.close();
});

test('a client that pauses at a change gets the next one after it resumes, also if that has arrived', async () => {
  await using service = await startService();
  const client = await bucketClient(service.port);
  const keys = Array.from({ length: 100 }, (_, index) => `k${index}`);
  await client.storeMany(
    0,
    keys.map((key) => storing(key, '1')),
  );
  const seen = new SeenChanges();
  const connection = await ChangeConnection.open(optionsFor(service.port, seen));
  const { change } = seen;
  let isPaused = false;
  seen.change = (received) => {
    assert.equal(isPaused, false);
    change.call(seen, received);
    isPaused = true;
    connection.pause();
    setImmediate(() => {
      isPaused = false;
      connection.resume();
    });
  };
  await Promise.all(everyVbucket.map((vb) => requestStream(connection, seen, vb)));
  await eventually(() => assert.equal(seen.changes.length, keys.length));
  client.close();
  connection.close();
});

async function unackedBytes(client: Awaited<ReturnType<typeof bucketClient>>): Promise<number> {
  const figures = [...(await client.stats('dcp'))].filter(([name]) => name.endsWith('unacked_bytes'));
  assert.equal(figures.length, 1, 'one connection has a statistic of unacknowledged bytes');
  return Number(figures[0]?.[1]);
}

test('a stream that is requested up to the latest change ends with this change', async () => {
  await using service = await startService();
  const client = await bucketClient(service.port);
  await client.storeMany(0, [storing('a', '1')]);
  const seen = new SeenChanges();
  const connection = await ChangeConnection.open(optionsFor(service.port, seen));
  const vb = vbucketOf('a');
  await connection.request(vb, { from: seen.positionOf(vb), until: 'latest' });
  await eventually(() => assert.deepEqual(seen.ends, [`${vb}:${EndReason.finished}`]));
  assert.equal(seen.changes.length, 1);
  client.close();
  connection.close();
});

test('a client rolls back the changes that the server does not have, and continues from the last common change', async () => {
  await using service = await startService();
  const client = await bucketClient(service.port);
  await client.storeMany(0, [storing('a', '1')]);
  const vb = vbucketOf('a');
  const seen = new SeenChanges();
  seen.rollback(vb, 77);
  seen.opened(vb, [{ uuid: 12345n, seqno: 0 }]);
  seen.rollbacks.length = 0;
  const follower = new ChangeFollower({
    ...optionsFor(service.port, seen),
    vbuckets: [vb],
    clock: realClock,
    handler: seen,
  });
  follower.start();
  await eventually(() => assert.equal(seen.changes.length, 1));
  assert.deepEqual(seen.rollbacks, [`${vb}:0`]);
  await follower.stop();
  client.close();
});

test('a client reconnects after a lost connection and receives only the changes that it lacks', async () => {
  await using service = await startService();
  const client = await bucketClient(service.port);
  const vb = vbucketOf('a');
  await client.storeMany(0, [storing('a', '1')]);
  const seen = new SeenChanges();
  const options = { ...optionsFor(service.port, seen), vbuckets: [vb], clock: realClock, handler: seen };
  const follower = new ChangeFollower(options);
  follower.start();
  await eventually(() => assert.equal(seen.changes.length, 1));
  // A second connection of the same name replaces it.
  const other = await ChangeConnection.open(optionsFor(service.port, new SeenChanges()));
  await eventually(() => assert.equal(seen.losses.length, 1));
  await client.storeMany(0, [storing('a', '2')]);
  await eventually(() =>
    assert.deepEqual(
      seen.changes.map(({ body }) => body),
      ['1', '2'],
    ),
  );
  await follower.stop();
  other.close();
  client.close();
});

test('a handler that cannot roll back a stream requested again learns why its streams were lost', async () => {
  await using service = await startService();
  const seen = new SeenChanges();
  const vb = vbucketOf('a');
  seen.rollback = () => {
    throw new Error('the handler has no older version');
  };
  const options = { ...optionsFor(service.port, seen), vbuckets: [vb], clock: realClock };
  const client = await bucketClient(service.port);
  await client.storeMany(0, [storing('a', '1')]);
  const follower = new ChangeFollower({ ...options, handler: seen });
  follower.start();
  await eventually(() => assert.equal(seen.changes.length, 1));
  await service.service.apply(aDesired({ buckets: [aBucket('b', { incarnation: 2 })] }));
  await eventually(() => assert.equal(seen.losses[0], 'the handler has no older version'));
  await follower.stop();
  client.close();
});

test('a client learns of a dropped collection, and of a rollback to zero after a flush', async () => {
  await using service = await startService();
  const client = await bucketClient(service.port);
  const vb = vbucketOf('a');
  await client.storeMany(orders, [storing('a', '1')]);
  const seen = new SeenChanges();
  const options = { ...optionsFor(service.port, seen, [orders, 9]), vbuckets: [vb], clock: realClock };
  const follower = new ChangeFollower({ ...options, handler: seen });
  follower.start();
  await eventually(() => assert.equal(seen.changes.length, 1));
  const firstUuid = seen.failoverLogs.get(vb)?.[0]?.uuid;
  await service.service.apply(aDesired({ buckets: [aBucket('b', { incarnation: 2 })] }));
  await eventually(() => assert.notEqual(seen.failoverLogs.get(vb)?.[0]?.uuid, firstUuid));
  assert.deepEqual(seen.rollbacks, [`${vb}:0`]);
  const manifest = aBucket('b').manifest;
  const shop = manifest.scopes[1];
  shop?.collections.splice(0, 1);
  const dropped = aBucket('b', { incarnation: 2, manifest: { ...manifest, uid: '3' } });
  await service.service.apply(aDesired({ buckets: [dropped] }));
  await eventually(() => assert.ok(seen.events.includes(`${EventKind.dropCollection} of ${orders}`)));
  await follower.stop();
  client.close();
});

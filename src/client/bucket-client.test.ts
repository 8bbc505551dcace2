import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snappyCompress } from '#wire/snappy.ts';
import { Status } from '#wire/status.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { keyOf, set } from '../../test/support/data-client.ts';
import { aBucket, aDesired, startService } from '../../test/support/data-service.ts';
import { eventually } from '../../test/support/node-process.ts';
import { storing } from '../../test/support/storing.ts';
import { addressOf, adminAccount, bucketClient } from '../../test/support/wire-clients.ts';
import { BucketClient, type FetchedParts, jsonFlags } from './bucket-client.ts';
import { DataPortError, StatusError } from './data-port-error.ts';
import { vbucketOf } from './document-key.ts';
import { type FetchedDocument, readWithin } from './fetched-document.ts';
import { RangeScanner } from './range-scan.ts';

/** Id of the collection `orders`. */
const orders = 8;

async function withClient(use: (client: BucketClient, port: number) => Promise<void>): Promise<void> {
  await using service = await startService();
  const client = await bucketClient(service.port);
  try {
    await use(client, service.port);
  } finally {
    client.close();
  }
}

test('thousands of documents are stored and read at once, with replies in the order of the keys', () =>
  withClient(async (client) => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `key ${index}`);
    const stored = await client.storeMany(
      orders,
      keys.map((key, index) => storing(key, `{"n":${index}}`)),
    );
    assert.ok(stored.every(({ status, token }) => status === 0 && token !== null && token.seqno > 0));
    const found = await client.getMany(orders, [...keys, 'missing']);
    assert.equal(found.at(-1), Status.keyNotFound);
    for (const [index, document] of found.slice(0, -1).entries()) {
      const { value, isJson, cas, flags } = document as FetchedDocument;
      assert.equal(value.toString(), `{"n":${index}}`);
      assert.deepEqual([isJson, cas, flags], [true, stored[index]?.cas, jsonFlags]);
    }
    assert.deepEqual(await client.getMany(0, ['key 1']), [Status.keyNotFound], 'another collection');
  }));

test('a failed write does not affect the other writes, and CAS conditions are checked', () =>
  withClient(async (client) => {
    const [first] = await client.storeMany(0, [storing('a', '1')]);
    const replies = await client.storeMany(0, [
      storing('a', '2', { kind: 'add' }),
      storing('a', '3', { kind: 'replace', cas: 1n }),
      storing('a', '4', { kind: 'replace', cas: first?.cas ?? 0n }),
      storing('b', '5', { kind: 'replace' }),
      storing('b', '', { kind: 'remove' }),
      storing('x'.repeat(251), '6'),
    ]);
    const { keyExists, success, keyNotFound, invalidArguments } = Status;
    assert.deepEqual(
      replies.map(({ status }) => status),
      [keyExists, keyExists, success, keyNotFound, keyNotFound, invalidArguments],
    );
    assert.equal(((await client.getMany(0, ['a']))[0] as FetchedDocument).value.toString(), '4');
  }));

test('a write with expiry `keep` leaves the expiry of the document unchanged', () =>
  withClient(async (client) => {
    const expiry = 4_000_000_000;
    const expiryOf = async () => {
      const path = { opcode: SubdocOpcode.get, flags: PathFlag.xattr, path: '$document.exptime' };
      const [found] = await client.lookupMany(0, ['a'], [path]);
      return (found as FetchedParts).results[0]?.value.toString();
    };
    await client.storeMany(0, [storing('a', '1', { expiry })]);
    await client.storeMany(0, [storing('a', '2', { expiry: 'keep' })]);
    assert.equal(await expiryOf(), String(expiry));
    await client.storeMany(0, [storing('a', '3')]);
    assert.equal(await expiryOf(), '0');
  }));

test('a durable write is acknowledged with success', () =>
  withClient(async (client) => {
    const [reply] = await client.storeMany(0, [storing('a', '1', { durability: 'persistToMajority' })]);
    assert.equal(reply?.status, Status.success);
  }));

test('extended attributes are written and read with the body', () =>
  withClient(async (client) => {
    const attribute = (name: string, value: string) => ({
      opcode: SubdocOpcode.dictUpsert,
      flags: PathFlag.xattr | PathFlag.mkdirP,
      path: name,
      value: Buffer.from(value),
    });
    const body = { opcode: SubdocOpcode.setDoc, flags: 0, path: '', value: Buffer.from('{"a":1}') };
    const writes = [attribute('x1', '1'), attribute('x2', '{"y":2}'), body];
    const [reply] = await client.storeMany(0, [
      storing('a', '', { parts: { writes, docFlags: DocFlag.mkdoc } }),
    ]);
    assert.equal(reply?.status, Status.success);
    const read = (path: string) => ({ opcode: SubdocOpcode.get, flags: PathFlag.xattr, path });
    const reads = [read('x2'), read('missing'), { opcode: SubdocOpcode.getDoc, flags: 0, path: '' }];
    const [found, none] = await client.lookupMany(0, ['a', 'b'], reads);
    const { results, cas } = found as FetchedParts;
    assert.equal(cas, reply?.cas);
    assert.deepEqual(
      results.map(({ status, value }) => [status, value.toString()]),
      [
        [Status.success, '{"y":2}'],
        [Status.subdocPathNotFound, ''],
        [Status.success, '{"a":1}'],
      ],
    );
    assert.equal(none, Status.keyNotFound);
  }));

test('compressed values are inflated', async () => {
  await using service = await startService();
  const text = JSON.stringify({ text: 'divan '.repeat(1_000) });
  const other = await service.ready();
  const packed = snappyCompress(Buffer.from(text), 0, text.length);
  await other.ask(set('a', packed, { datatype: 2, vb: vbucketOf('a'), key: keyOf('a') }));
  const client = await bucketClient(service.port);
  const [document] = await client.getMany(0, ['a']);
  assert.equal((document as FetchedDocument).value.toString(), text);
  assert.equal((document as FetchedDocument).isJson, true);
  client.close();
});

test('a collection is scanned by vbucket, with keys only or with documents', () =>
  withClient(async (client) => {
    const keys = Array.from({ length: 3_000 }, (_, index) => `k${index}`);
    await client.storeMany(
      orders,
      keys.map((key) => storing(key, `"${key}"`, { expiry: 4_000_000_000 })),
    );
    await client.storeMany(0, [storing('elsewhere', '1')]);
    for (const keysOnly of [true, false]) {
      const seen: string[] = [];
      const seqnos = await client.highSeqnos(orders);
      for (const [vb, seqno] of seqnos.entries()) {
        if (seqno === 0) continue;
        const scanner = new RangeScanner(client.connection, {
          vb,
          collectionId: orders,
          keysOnly,
          withXattrs: false,
        });
        for (let page = await scanner.next(); page !== null; page = await scanner.next()) {
          for (const { key, value, expiry, isJson } of page) {
            seen.push(key);
            if (!keysOnly)
              assert.deepEqual([value.toString(), expiry, isJson], [`"${key}"`, 4_000_000_000, true]);
          }
        }
      }
      assert.deepEqual(seen.sort(), [...keys].sort());
    }
    assert.equal(await client.itemCount(orders), 3_000);
  }));

test('the name of a collection is resolved to its id, and an unknown name to undefined', () =>
  withClient(async (client) => {
    assert.equal(await client.collectionId('shop', 'carts'), 9);
    assert.equal(await client.collectionId('shop', 'boats'), undefined);
    assert.equal(await client.collectionId('port', 'carts'), undefined);
    assert.match(await client.manifest(), /"orders"/);
    const [[uuid]] = [await client.uuids()];
    assert.equal(uuid, (await client.failoverLogs([0])).get(0)?.[0]?.uuid);
  }));

test('a closed connection fails all pending requests', () =>
  withClient(async (client) => {
    const keys = Array.from({ length: 4_000 }, (_, index) => `key ${index}`);
    const reading = client.getMany(0, keys);
    client.close();
    await assert.rejects(reading, DataPortError);
    await assert.rejects(client.getMany(0, ['a']), DataPortError);
  }));

test('an aborted read sends no further requests', () =>
  withClient(async (client) => {
    const ending = new AbortController();
    const keys = Array.from({ length: 100_000 }, (_, index) => `key ${index}`);
    const reading = client.getMany(0, keys, ending.signal);
    ending.abort(new Error('enough'));
    await assert.rejects(reading, /enough/);
    assert.deepEqual(await client.getMany(0, ['a']), [Status.keyNotFound], 'the connection remains usable');
  }));

test('a read above its limit of bytes resolves with null, and keeps no more values', () =>
  withClient(async (client) => {
    const valueBytes = 1 << 20;
    const keys = Array.from({ length: 16 }, (_, index) => `key ${index}`);
    const value = Buffer.alloc(valueBytes, 'x');
    await client.storeMany(
      0,
      keys.map((key) => storing(key, '', { value })),
    );
    const limit = { collectionId: 0, bytesMax: 2 * valueBytes, signal: new AbortController().signal };
    const within = await readWithin(client.connection, { ...limit, keys: [...keys.slice(0, 2), 'missing'] });
    assert.deepEqual(
      within?.map((found) => (typeof found === 'number' ? found : found.value.length)),
      [valueBytes, valueBytes, Status.keyNotFound],
    );
    let answered = 0;
    let keptBytes = 0;
    const { send } = client.connection;
    client.connection.send = (request, receive) =>
      send.call(client.connection, request, (frame) => {
        const before = process.memoryUsage().arrayBuffers;
        const isLast = receive(frame);
        keptBytes += process.memoryUsage().arrayBuffers - before;
        answered++;
        return isLast;
      });
    assert.equal(await readWithin(client.connection, { ...limit, keys }), null);
    // The third value exceeds the limit: replies that follow are not copied.
    await eventually(() => assert.equal(answered, keys.length));
    assert.ok(keptBytes < 4 * valueBytes, `${keptBytes} bytes`);
    assert.deepEqual(await client.getMany(0, ['a']), [Status.keyNotFound], 'the connection remains usable');
  }));

test('a refused login and an unknown bucket reject with the status', async () => {
  await using service = await startService(aDesired({ buckets: [aBucket('b')] }));
  const open = (username: string, bucket: string) =>
    BucketClient.open({ address: addressOf(service.port), account: { ...adminAccount, username }, bucket });
  await assert.rejects(open('nobody', 'b'), (error: StatusError) => error.status === Status.authError);
  await assert.rejects(open('admin', 'c'), (error: StatusError) => error instanceof StatusError);
});

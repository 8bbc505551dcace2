// Documents in batches, compared with the same documents through the data port.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import fc from 'fast-check';
import { documentKey, vbucketOf } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import type { DocumentWrite, ScanOptions, StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { EvictKey } from '#wire/commands/bucket.ts';
import type { SlotMessage } from '#wire/document-batch.ts';
import { Status } from '#wire/status.ts';
import { startService } from '../../../test/support/data-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { addressOf, adminAccount } from '../../../test/support/wire-clients.ts';
import { BatchedDocuments } from './batched-documents.ts';
import { BucketClients } from './bucket-clients.ts';
import { encodedKeys } from './encoded-keys.ts';
import { QuickReads, type SlotChannel } from './quick-reads.ts';
import { WireDocuments } from './wire-documents.ts';

const orders: Keyspace = {
  name: { namespace: 'default', bucket: 'b', scope: 'shop', collection: 'orders' },
  bucketUuid: '',
  scopeId: 8,
  collectionId: 8,
};
const { signal } = new AbortController();

async function served() {
  const service = await startService();
  const { port1, port2 } = new MessageChannel();
  await service.service.serveBatches(port1);
  const open = (batches: BatchedDocuments | null, quick: QuickReads | null = null) => {
    const clients = new BucketClients(realClock, batches, quick);
    clients.use({ address: addressOf(service.port), account: adminAccount });
    return { clients, documents: new WireDocuments(clients) };
  };
  const [direct, batched] = [open(null), open(new BatchedDocuments(port2))];
  const quick = open(null, new QuickReads(await slotChannel(service.service)));
  return {
    direct,
    batched,
    quick,
    async [Symbol.asyncDispose]() {
      direct.clients.closeAll();
      quick.clients.closeAll();
      batched.clients.closeAll();
      batched.clients.batches?.close();
      await service[Symbol.asyncDispose]();
    },
  };
}

type RunningService = Awaited<ReturnType<typeof startService>>;

/** Answers at once: both ends are in one thread. */
async function slotChannel(service: RunningService['service']): Promise<SlotChannel> {
  const listeners: ((message: SlotMessage) => void)[] = [];
  await service.serveBatches({
    on: (_event, listener) => listeners.push(listener),
    postMessage: () => {},
    unref: () => {},
  });
  return { postMessage: (message) => listeners[0]?.(message) };
}

const body = fc.oneof(
  { weight: 20, arbitrary: fc.json() },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 50 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 200_000 }).map((size) => `"${'x'.repeat(size)}"`) },
);
const document = fc.record({
  text: body,
  xattrs: fc.constantFrom(undefined, undefined, new Map([['x', Buffer.from('{"a":1}')]])),
  expiration: fc.constantFrom(0, 4_000_000_000),
  isDeleted: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});

async function scanned(documents: WireDocuments, options: ScanOptions) {
  const found: StoredDocument[] = [];
  for await (const batch of documents.scan(orders, options)) found.push(...batch);
  return found.map(plain).sort((a, b) => (a.id < b.id ? -1 : 1));
}

const read = async (documents: WireDocuments, ids: readonly string[]) =>
  (await documents.read(orders, ids, { signal })).map((result) => result && plain(result));

/** Short, so that differences are found and shown quickly. */
const plain = ({ id, bytes, isJson, cas, expiration, flags, xattrs }: StoredDocument) => ({
  id,
  bytes: `${bytes.length}: ${hash('sha1', bytes)}`,
  isJson,
  cas,
  expiration,
  flags,
  xattrs,
});
/** For reads that did not request the expiry: batches may then have 0. */
const withoutExpiry = (found: readonly (ReturnType<typeof plain> | undefined)[]) =>
  found.map((result) => result && { ...result, expiration: 0 });

test('documents in batches are those of the data port, also large ones and those that memory does not hold', async () => {
  await using all = await served();
  const { direct, batched } = all;
  const stored = fc.sample(document, { numRuns: 600, seed: printedSeed(console.log) });
  const idOf = (at: number): string => `${at}${at % 7 === 0 ? 'é😀'.repeat(at % 30) : ''}`;
  const writes = stored.map(
    ({ text, xattrs, expiration }, at): DocumentWrite => ({
      kind: 'upsert',
      id: idOf(at),
      bytes: Buffer.from(text),
      cas: 0n,
      expiration,
      ...(xattrs && { xattrs }),
    }),
  );
  const options = { durability: 'none', signal } as const;
  await direct.documents.write(orders, writes, options);
  const isGone = (_: unknown, at: number): boolean => stored[at]?.isDeleted ?? false;
  const deletions = writes.filter(isGone).map(({ id }): DocumentWrite => {
    return { kind: 'delete', id, bytes: Buffer.alloc(0), cas: 0n, expiration: 0 };
  });
  await direct.documents.write(orders, deletions, options);
  const client = await direct.clients.clientOf('b');
  for (let at = 0; at < stored.length; at += 50) {
    // Empty text with xattrs is no document.
    const isStored = (await read(direct.documents, [idOf(at)]))[0] !== undefined;
    if (isGone(null, at) || !isStored) continue;
    const request = { opcode: EvictKey.opcode, vb: vbucketOf(idOf(at)), key: documentKey(8, idOf(at)) };
    await eventually(async () =>
      assert.equal((await client.connection.request(request)).status, Status.success),
    );
  }
  const ids = [...writes.map(({ id }) => id), 'none', '', 'k'.repeat(300)];
  assert.deepEqual(
    withoutExpiry(await read(batched.documents, ids)),
    withoutExpiry(await read(direct.documents, ids)),
  );
  let quickReplies = 0;
  for (let at = 0; at < ids.length; at += 30) {
    const someIds = ids.slice(at, at + 30);
    if (all.quick.clients.quick?.read('b', 8, someIds)) quickReplies++;
    assert.deepEqual(
      withoutExpiry(await read(all.quick.documents, someIds)),
      withoutExpiry(await read(direct.documents, someIds)),
    );
  }
  assert.ok(quickReplies > 0);
  const timed = { signal, expiration: true };
  assert.deepEqual(await scanned(batched.documents, timed), await scanned(direct.documents, timed));
  for (const keysOnly of [false, true]) {
    const expected = await scanned(direct.documents, { signal, keysOnly });
    const found = await scanned(batched.documents, { signal, keysOnly });
    assert.ok(expected.length > 400);
    if (!keysOnly) assert.deepEqual(withoutExpiry(found), withoutExpiry(expected));
    assert.deepEqual(
      found.map(({ id }) => id),
      expected.map(({ id }) => id),
    );
  }
});

test('an id whose length does not fit into its field names no document, and reads no other', async () => {
  await using all = await served();
  // The low byte of their vbucket is ASCII, so that UTF-8 writes it as one byte.
  const stored = Array.from({ length: 200 }, (_, at) => `k${at}`).filter(
    (id) => (vbucketOf(id) & 0x80) === 0,
  );
  const writes = stored.map(
    (id): DocumentWrite => ({ kind: 'upsert', id, bytes: Buffer.from('{}'), cas: 0n, expiration: 0 }),
  );
  await all.direct.documents.write(orders, writes, { durability: 'none', signal });
  // The id is `abc`, then the encoded keys of these documents; its length modulo 65,536 is 3.
  const keys = stored.map((id) => {
    const vb = vbucketOf(id);
    return `${String.fromCharCode(vb >> 8, vb & 0xff, 0, id.length + 1, orders.collectionId)}${id}`;
  });
  const long = `abc${keys.join('')}`.padEnd(65_536 + 3, 'x');
  const none = stored.map((id) => `not-${id}`);
  for (const ids of [[long, ...none], ['é'.repeat(126), ...none, '日'.repeat(22_000)], [long]])
    for (const { documents } of [all.batched, all.direct, all.quick])
      assert.deepEqual(
        await read(documents, ids),
        ids.map(() => undefined),
      );
  assert.throws(() => encodedKeys(orders.collectionId, [long]), /longer than its length field/);
});

test('what batches cannot read fails as through the data port, and leaving a scan early lets the next one run', async () => {
  await using all = await served();
  const { documents } = all.batched;
  const ids = Array.from({ length: 2_000 }, (_, at) => `k${at}`);
  const missingKeyspace = { ...orders, collectionId: 77 };
  await assert.rejects(async () => await documents.read(missingKeyspace, ids, { signal }), { code: 12003 });
  await assert.rejects(async () => await all.quick.documents.read(missingKeyspace, ['k1'], { signal }), {
    code: 12003,
  });
  const writes = ids.map((id): DocumentWrite => {
    return { kind: 'upsert', id, bytes: Buffer.from('1'), cas: 0n, expiration: 0 };
  });
  await documents.write(orders, writes, { durability: 'none', signal });
  for (let round = 0; round < 20; round++) {
    for await (const batch of documents.scan(orders, { signal })) {
      assert.ok(batch.length > 0);
      break;
    }
  }
  assert.equal((await scanned(documents, { signal })).length, ids.length);
  const stopped = AbortSignal.abort(new Error('enough'));
  await assert.rejects(scanned(documents, { signal: stopped }), /enough/);
});

test('a scan whose caller is slow reports the end of the data service when the caller continues', async () => {
  for (const isBatched of [true, false]) {
    await using all = await served();
    const { clients, documents } = isBatched ? all.batched : all.direct;
    const writes = Array.from({ length: 5_000 }, (_, at): DocumentWrite => {
      return { kind: 'upsert', id: `k${at}`, bytes: Buffer.from('{}'), cas: 0n, expiration: 0 };
    });
    await documents.write(orders, writes, { durability: 'none', signal });
    const scan = documents.scan(orders, { signal })[Symbol.asyncIterator]();
    assert.equal((await scan.next()).done, false);
    // The requests of the scan fail now, while nothing waits for them. A rejection without a handler would end the query thread.
    clients.batches?.close();
    clients.closeAll();
    await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(
      async () => {
        while (!(await scan.next()).done);
      },
      { code: 12008 },
    );
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import type { StoreReply, StoreRequest } from '#client/bucket-client.ts';
import { DataPortError, UnsentError } from '#client/data-port-error.ts';
import { vbucketOf } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import type { DocumentWrite, StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { SqlError } from '#sqlpp/errors/sql-error.ts';
import { RangeScanContinue } from '#wire/commands/bucket.ts';
import { Status } from '#wire/status.ts';
import { startService } from '../../../test/support/data-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { addressOf, adminAccount } from '../../../test/support/wire-clients.ts';
import { BucketClients } from './bucket-clients.ts';
import { WireDocuments } from './wire-documents.ts';

const orders: Keyspace = {
  name: { namespace: 'default', bucket: 'b', scope: 'shop', collection: 'orders' },
  bucketUuid: '',
  scopeId: 8,
  collectionId: 8,
};
const { signal } = new AbortController();
const readOptions = { signal };

const write = (
  kind: DocumentWrite['kind'],
  id: string,
  text = '',
  overrides: Partial<DocumentWrite> = {},
) => ({
  kind,
  id,
  bytes: Buffer.from(text),
  cas: 0n,
  expiration: 0,
  ...overrides,
});

async function withDocuments(use: (documents: WireDocuments, clients: BucketClients) => Promise<void>) {
  await using service = await startService();
  const clients = new BucketClients(realClock);
  clients.use({ address: addressOf(service.port), account: adminAccount });
  try {
    await use(new WireDocuments(clients), clients);
  } finally {
    clients.closeAll();
  }
}

const withoutDurability = { durability: 'none', signal } as const;

test('documents are written, read and scanned', () =>
  withDocuments(async (documents) => {
    const ids = Array.from({ length: 1_000 }, (_, index) => `k${index}`);
    const outcomes = await documents.write(
      orders,
      ids.map((id) => write('insert', id, `{"id":"${id}"}`)),
      withoutDurability,
    );
    assert.ok(outcomes.every(({ status }) => status === 'done'));
    const found = await documents.read(orders, ['k5', 'none', 'k7', ''], readOptions);
    assert.deepEqual(
      found.map((document) => document && Buffer.from(document.bytes).toString()),
      ['{"id":"k5"}', undefined, '{"id":"k7"}', undefined],
    );
    const seen: StoredDocument[] = [];
    for await (const batch of documents.scan(orders, readOptions)) seen.push(...batch);
    assert.deepEqual(seen.map(({ id }) => id).sort(), [...ids].sort());
    assert.equal(await documents.count(orders, signal), 1_000);
  }));

test('above the limit of connections the least recently used one is closed', async () => {
  await using service = await startService();
  const clients = new BucketClients(realClock, null, null, 2);
  clients.use({ address: addressOf(service.port), account: adminAccount });
  try {
    const { bucket } = orders.name;
    const [documents, scans] = [await clients.clientOf(bucket), await clients.forScans(bucket)];
    assert.equal(clients.openClient(bucket), documents);
    await assert.rejects(clients.clientOf('another'));
    assert.deepEqual([documents.isClosed, scans.isClosed], [false, true]);
    assert.equal(await clients.clientOf(bucket), documents);
  } finally {
    clients.closeAll();
  }
});

test('calls at the same time share one connection, and after it has closed they share the next one', () =>
  withDocuments(async (_documents, clients) => {
    const connected = async () => new Set(await Promise.all([1, 2, 3, 4].map(() => clients.clientOf('b'))));
    const [first, ...others] = await connected();
    assert.equal(others.length, 0);
    first?.close();
    await eventually(() => assert.ok(first?.isClosed));
    const [second, ...more] = await connected();
    assert.equal(more.length, 0);
    assert.notEqual(second, first);
  }));

test('each write has its own outcome', () =>
  withDocuments(async (documents) => {
    const [first] = await documents.write(orders, [write('upsert', 'a', '1')], withoutDurability);
    const cas = first?.status === 'done' ? first.cas : 0n;
    const outcomes = await documents.write(
      orders,
      [
        write('insert', 'a', '2'),
        write('replace', 'a', '3', { cas: cas + 1n }),
        write('replace', 'a', '4', { cas }),
        write('replace', 'b', '5'),
        write('delete', 'b'),
        write('upsert', 'k'.repeat(300), '6'),
      ],
      withoutDurability,
    );
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['exists', 'cas mismatch', 'done', 'not found', 'not found', 'failed'],
    );
    const failed = outcomes.at(-1);
    assert.match(failed?.status === 'failed' ? failed.reason : '', /longer than 250 bytes/);
  }));

test('the name of an attribute is not read as a path into another attribute', () =>
  withDocuments(async (documents) => {
    const a = new Map([['a', Buffer.from('{"b":1}')]]);
    const inA = new Map([['a.b', Buffer.from('2')]]);
    const outcomes = await documents.write(
      orders,
      [
        write('upsert', 'one', '{}', { xattrs: inA }),
        write('upsert', 'two', '{}', { xattrs: a }),
        write('upsert', 'three', '{}', { xattrs: new Map([['c`', null]]) }),
      ],
      withoutDurability,
    );
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['failed', 'done', 'failed'],
    );
    const [first] = outcomes;
    assert.match(
      first?.status === 'failed' ? first.reason : '',
      /attribute "a\.b" must have 1 to 15 bytes, begin with/,
    );
    const impossible = ['a.b', '', '_', '@a', 'x'.repeat(16), 'ä'.repeat(8), 'n'.repeat(70_000), 'a\tb'];
    for (const name of impossible) {
      const xattrs = new Map([[name, Buffer.from('1')]]);
      const [outcome] = await documents.write(
        orders,
        [write('upsert', 'no', '{}', { xattrs })],
        withoutDurability,
      );
      assert.match(outcome?.status === 'failed' ? outcome.reason : '', /^the name of the attribute/);
    }
    const possible = new Map(['x'.repeat(15), '_s', ' b', '9'].map((name) => [name, Buffer.from('1')]));
    const others = [write('upsert', 'four', '{}', { xattrs: possible })];
    assert.equal((await documents.write(orders, others, withoutDurability))[0]?.status, 'done');
    const xattrs = ['a', ...impossible];
    const [one, two] = await documents.read(orders, ['one', 'two'], { ...readOptions, xattrs });
    assert.equal(one, undefined);
    assert.deepEqual([...(two?.xattrs?.keys() ?? [])], ['a']);
  }));

test('a read returns expiry and attributes on request, with the same body', () =>
  withDocuments(async (documents) => {
    const expiration = 4_000_000_000;
    const xattrs = new Map([['x', Buffer.from('{"a":1}')]]);
    await documents.write(
      orders,
      [write('upsert', 'a', '{"n":1}', { expiration, xattrs })],
      withoutDurability,
    );
    const [plain] = await documents.read(orders, ['a'], readOptions);
    assert.equal(plain?.xattrs, undefined);
    const [withAttributes] = await documents.read(orders, ['a'], {
      ...readOptions,
      expiration: true,
      xattrs: ['x', 'y'],
    });
    assert.equal(withAttributes?.expiration, expiration);
    assert.equal(withAttributes?.isJson, true);
    assert.equal(Buffer.from(withAttributes?.bytes ?? []).toString(), '{"n":1}');
    assert.deepEqual(
      [...(withAttributes?.xattrs ?? [])].map(([name, value]) => [name, String(value)]),
      [['x', '{"a":1}']],
    );
    await documents.write(orders, [write('upsert', 'a', '2', { expiration: 'keep' })], withoutDurability);
    const [document] = await documents.read(orders, ['a'], { ...readOptions, expiration: true });
    assert.equal(document?.expiration, expiration);
  }));

test('a read returns any number of attributes, all of the same version', () =>
  withDocuments(async (documents, clients) => {
    const names = Array.from({ length: 50 }, (_, at) => `x${at}`);
    const store = (version: number, some: readonly string[]) => {
      const xattrs = new Map(some.map((name) => [name, Buffer.from(String(version))]));
      return documents.write(
        orders,
        [write('upsert', 'a', `{"n":${version}}`, { xattrs })],
        withoutDurability,
      );
    };
    for (let from = 0; from < names.length; from += 10) await store(1, names.slice(from, from + 10));
    const read = async () => {
      const [document] = await documents.read(orders, ['a', 'none'], { ...readOptions, xattrs: names });
      return [Buffer.from(document?.bytes ?? []), ...(document?.xattrs?.values() ?? [])].map(String);
    };
    assert.deepEqual(await read(), ['{"n":1}', ...names.map(() => '1')]);

    const client = await clients.clientOf('b');
    const lookupMany = client.lookupMany.bind(client);
    let changes = 2;
    let version = 1;
    client.lookupMany = async (...request) => {
      const found = await lookupMany(...request);
      // The document changes between the requests of the first reads.
      if (changes-- > 0) await store(++version, names.slice(0, 10));
      return found;
    };
    assert.deepEqual(await read(), ['{"n":3}', ...names.map((_, at) => (at < 10 ? '3' : '1'))]);
    changes = 1_000;
    await assert.rejects(read(), (error) => error instanceof SqlError && error.code === 12008);
  }));

test('reads are sent again while a vbucket moves, or after the connection was lost', () =>
  withDocuments(async (documents, clients) => {
    await documents.write(orders, [write('upsert', 'a', '{"n":1}')], withoutDurability);
    const client = await clients.clientOf('b');
    const { getMany, lookupMany, itemCount } = client;
    let failures = 0;
    const failsTwice = async <T>(refused: T, answer: () => Promise<T>): Promise<T> => {
      if (++failures === 1) throw new DataPortError('lost');
      return failures === 2 ? refused : await answer();
    };
    client.getMany = (...request) =>
      failsTwice([Status.temporaryFailure], () => getMany.apply(client, request));
    client.lookupMany = (...request) =>
      failsTwice([Status.temporaryFailure], () => lookupMany.apply(client, request));
    client.itemCount = (id) => failsTwice(0, () => itemCount.call(client, id));
    for (const options of [readOptions, { ...readOptions, expiration: true }]) {
      failures = 0;
      const [found] = await documents.read(orders, ['a'], options);
      assert.equal(String(Buffer.from(found?.bytes ?? [])), '{"n":1}');
      assert.equal(failures, 3);
    }
    failures = 2;
    assert.equal(await documents.count(orders, signal), 1);
  }));

test('a scan continues after the last page where the data service has ended it', () =>
  withDocuments(async (documents, clients) => {
    const padding = 'x'.repeat(400_000);
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) => idIn(vbucketOf('a'), id));
    for (const id of ids)
      await documents.write(orders, [write('upsert', id, JSON.stringify(padding))], withoutDurability);
    const { connection } = await clients.forScans('b');
    const { send } = connection;
    let pages = 0;
    connection.send = (request, receive) => {
      const isContinue = request.opcode === RangeScanContinue.opcode;
      // The data service answers one third of the requests as requests for an unknown scan, and another third not at all.
      const isUnknown = isContinue && ++pages % 3 === 0;
      const isLost = isContinue && pages % 3 === 1;
      if (isLost) receive(null);
      else send.call(connection, isUnknown ? { ...request, extras: Buffer.alloc(28) } : request, receive);
    };
    const seen: string[] = [];
    for await (const batch of documents.scan(orders, readOptions)) seen.push(...batch.map(({ id }) => id));
    assert.deepEqual(seen, [...ids].sort());
    assert.ok(pages >= 6, `${pages} pages`);
  }));

/** An id in the vbucket that begins with a text. */
function idIn(vb: number, text: string): string {
  for (let n = 0; ; n++) if (vbucketOf(`${text}${n}`) === vb) return `${text}${n}`;
}

test('a dropped collection is an error that names it', () =>
  withDocuments(async (documents) => {
    const missingKeyspace = { ...orders, collectionId: 77 };
    const isMissing = (error: unknown) => error instanceof SqlError && error.code === 12003;
    await assert.rejects(async () => await documents.read(missingKeyspace, ['a'], readOptions), isMissing);
    const bucket = { ...orders, name: { ...orders.name, bucket: 'nowhere' } };
    await assert.rejects(documents.count(bucket, signal), isMissing);
  }));

test('ending a scan early cancels it in the data service', () =>
  withDocuments(async (documents, clients) => {
    const ids = Array.from({ length: 3_000 }, (_, index) => `k${index}`);
    await documents.write(
      orders,
      ids.map((id) => write('upsert', id, '1')),
      withoutDurability,
    );
    for (let round = 0; round < 50; round++) {
      for await (const batch of documents.scan(orders, readOptions)) {
        assert.ok(batch.length > 0);
        break;
      }
    }
    const client = await clients.clientOf('b');
    assert.equal((await client.getMany(8, ['k1'])).length, 1);
  }));

test('writes that were made are known after the connection was lost before others were answered', () =>
  withDocuments(async (documents, clients) => {
    const client = await clients.clientOf('b');
    const storeMany = client.storeMany.bind(client);
    const writes = ['a', 'b', 'c'].map((id) => write('upsert', id, '{}'));
    client.storeMany = async (collectionId, requests, _signal, replies) => {
      await storeMany(collectionId, requests.slice(0, 1), signal, replies);
      throw new DataPortError('lost');
    };
    const [made, ...others] = await documents.write(orders, writes, withoutDurability);
    assert.equal(made?.status, 'done');
    for (const outcome of others) {
      assert.ok(outcome.status === 'unknown' && outcome.error instanceof SqlError);
      assert.equal(outcome.error.code, 12008);
    }
    client.storeMany = () => Promise.reject(new DataPortError('lost'));
    await assert.rejects(documents.write(orders, writes, withoutDurability), { code: 12008 });
  }));

test('writes that were not sent are sent over the next connection, and a scan whose connection has ended fails at once', () =>
  withDocuments(async (documents, clients) => {
    const client = await clients.clientOf('b');
    client.storeMany = () => {
      client.close();
      return Promise.reject(new UnsentError('the connection has ended'));
    };
    const [made] = await documents.write(orders, [write('upsert', 'a', '{}')], withoutDurability);
    assert.equal(made?.status, 'done');
    const scanning = await clients.forScans('b');
    let reads = 0;
    scanning.highSeqnos = () => {
      reads++;
      scanning.close();
      return Promise.reject(new DataPortError('the connection has ended'));
    };
    await assert.rejects(
      async () => {
        for await (const _ of documents.scan(orders, readOptions));
      },
      { code: 12008 },
    );
    assert.equal(reads, 1);
  }));

test('other requests get the place of a statement whose durable write waits for another node', () =>
  withDocuments(async (_documents, clients) => {
    const client = await clients.clientOf('b');
    const storeMany = client.storeMany.bind(client);
    const confirmed = deferred<void>();
    let isAway = false;
    const place = {
      mayLeave: true,
      without: async (waiting: () => Promise<void>) => {
        isAway = true;
        await waiting();
        isAway = false;
      },
    };
    const documents = new WireDocuments(clients, place);
    const durable = { durability: 'majority', signal } as const;
    client.storeMany = async (collectionId, requests, ending, replies) => {
      const stored = await storeMany(collectionId, requests.map(undurable), ending, replies);
      await confirmed.promise;
      return stored;
    };
    const writing = documents.write(orders, [write('upsert', 'a', '{}')], durable);
    await eventually(() => assert.ok(isAway));
    confirmed.resolve();
    assert.deepEqual([(await writing)[0]?.status, isAway], ['done', false]);
    place.without = () => Promise.reject(new Error('it does not wait for long'));
    const [quick] = await documents.write(orders, [write('upsert', 'b', '{}')], durable);
    assert.equal(quick?.status, 'done');
  }));

const undurable = (request: StoreRequest): StoreRequest => ({ ...request, durability: 'none' });

test('a write to a bucket that has refused all others for long is not sent again', () =>
  withDocuments(async (documents, clients) => {
    const client = await clients.clientOf('b');
    const nowMs = realClock.monotonicMs();
    for (let ms = nowMs - 8_000; ms < nowMs; ms += 1_000) clients.refusalsOf('b').untilMs(ms);
    let sends = 0;
    client.storeMany = async (_collectionId, _requests, _signal, replies) => {
      sends++;
      replies?.push({ status: Status.outOfMemory, cas: 0n, token: null, failedPartStatus: 0 });
      return replies as StoreReply[];
    };
    const [refused] = await documents.write(orders, [write('upsert', 'a', '{}')], withoutDurability);
    assert.deepEqual([refused?.status, sends], ['failed', 1]);
  }));

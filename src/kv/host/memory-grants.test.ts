// Which documents other threads find in memory, and what they leave to the data thread. Here both are in one thread.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { processMs } from '#ports/clock.ts';
import type { MemoryChange, MemoryDocument, MemoryReply } from '#wire/document-batch.ts';
import { Datatype, Status } from '#wire/status.ts';
import { BucketUnderTest, type Change, keyOf } from '../../../test/support/a-bucket.ts';
import { openBucket } from '../../../test/support/changing-bucket.ts';
import { aBucket } from '../../../test/support/data-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { BucketMemory } from '../memory/bucket-memory.ts';
import { Bit } from '../memory/layout.ts';
import { SharedDocuments, unmarkedMs } from '../memory/shared-documents.ts';
import { Directory } from '../served/directory.ts';
import { ServedBucket } from '../served/served-bucket.ts';
import { emptyPosition } from '../vbucket/item-position.ts';
import { DocumentBatches } from './document-batches.ts';
import { MemoryGrants } from './memory-grants.ts';
import { markUsed } from './used-documents.ts';

const spec = aBucket('b', { type: 'ephemeral' });
const orders = 8;

class SharedBucket {
  readonly b = new BucketUnderTest({ manifest: spec.manifest });
  readonly served = new ServedBucket(spec);
  requests = 0;
  /** How often documents were marked as used. */
  marks = 0;
  garbageCollections = 0;
  /** Called when the reader has read the time until which a vbucket is served. */
  onTimeRead = (): void => {};
  private readonly messages: (MemoryReply | MemoryChange)[] = [];
  private readonly reader: SharedDocuments;
  readonly directory = new Directory();

  constructor() {
    const { b, directory, messages, served } = this;
    directory.buckets.set('b', served);
    const grants = new MemoryGrants(directory, b.clock, (message) => messages.push(this.observed(message)));
    this.reader = new SharedDocuments({
      send: (message) => {
        if (message.kind === 'used') {
          this.marks++;
          markUsed(directory, message);
          return;
        }
        this.requests++;
        grants.answer(message);
      },
      clock: {
        wallMs: () => b.clock.wallMs(),
        processMs,
        after: (delayMs, callback) => b.clock.after(delayMs, callback),
      },
      collectGarbage: () => this.garbageCollections++,
    });
  }

  /** The message with a grant that calls `onTimeRead`. */
  private observed(message: MemoryReply | MemoryChange): MemoryReply | MemoryChange {
    if (message.kind !== 'memory' || message.grant === null) return message;
    const get = (times: Float64Array, vb: string): unknown => {
      const untilMs = Reflect.get(times, vb);
      this.onTimeRead();
      return untilMs;
    };
    const servedUntilMs = new Proxy(message.grant.servedUntilMs, { get });
    return { ...message, grant: { ...message.grant, servedUntilMs } };
  }

  async start(): Promise<this> {
    await this.b.start();
    openBucket(this.served, this.b.bucket);
    return this;
  }

  /** Stores a document and reads it in the data thread, which marks it as used. */
  store(name: string, change: Change = {}): void {
    assert.equal(this.b.store(`${orders}:${name}`, change), Status.success);
    this.b.find(`${orders}:${name}`);
  }

  addressOf(name: string): number {
    const { memory } = this.b.bucket;
    const key = keyOf(`${orders}:${name}`);
    const hash = memory.hash(key, 0, key.length);
    return memory.locate(emptyPosition(), 0, hash, key, 0, key.length);
  }

  /** The number of the page that has the document: the high half of its address. */
  pageOf(name: string): number {
    return this.addressOf(name) >>> 16;
  }

  /** The memory of the bucket as a thread with a grant of its own has it. */
  bucketMemory(): BucketMemory {
    const grants: MemoryReply[] = [];
    const directory = new Directory();
    directory.buckets.set('b', this.served);
    const request = { kind: 'memory', bucket: 'b', collection: orders, page: 1, vbucket: 0 } as const;
    new MemoryGrants(directory, this.b.clock, (message) => grants.push(message as MemoryReply)).answer(
      request,
    );
    const [reply] = grants;
    assert.ok(reply?.grant);
    const memory = new BucketMemory(reply.grant, { wallMs: () => this.b.clock.wallMs(), processMs });
    memory.add(orders, reply.grant);
    return memory;
  }

  /** The value of the document that another thread finds in this turn. */
  readNow(name: string): string | null {
    return this.document(name)?.value ?? null;
  }

  /** The value of the document that another thread finds in a later turn, once it has the memory that it requested. */
  async read(name: string): Promise<string | null> {
    for (let attempt = 0; ; attempt++) {
      await null;
      for (const message of this.messages.splice(0)) this.reader.receive(message);
      const { requests } = this;
      const value = this.readNow(name);
      if (value !== null || requests === this.requests || attempt === 5) return value;
    }
  }

  /** After a refusal some reads pass before the memory is requested again. */
  async readLater(name: string): Promise<string | null> {
    let value: string | null = null;
    for (let read = 0; read < 300 && value === null; read++) value = await this.read(name);
    return value;
  }

  document(name: string): FoundDocument | null {
    const key = keyOf(`${orders}:${name}`);
    const request = Buffer.concat([Buffer.from([0, 0, 0, key.length]), key]);
    let found: FoundDocument | null = null;
    const others = this.reader.read('b', orders, request, request.length, (document, position) => {
      const { bytes, start, end, datatype, flags, expiry, casHi, casLo } = document;
      assert.equal(position, 0);
      found = { value: bytes.toString('latin1', start, end), datatype, flags, expiry, casHi, casLo };
    });
    if (others !== null) assert.deepEqual(others, found === null ? [0] : []);
    return found;
  }
}

interface FoundDocument extends Omit<MemoryDocument, 'bytes' | 'start' | 'end'> {
  readonly value: string;
}

const started = (): Promise<SharedBucket> => new SharedBucket().start();

test('a document in memory is found with its value, flags, expiry and CAS, and counted', async () => {
  const s = await started();
  const expiry = s.b.nowSeconds + 100;
  s.store('a', { value: 'first', flags: 7, datatype: Datatype.json, expiry });
  s.store('b', { value: '' });
  assert.deepEqual([await s.read('a'), await s.read('b')], ['first', '']);
  s.b.find(`${orders}:a`);
  const { casHi, casLo } = s.b.view;
  const datatype = Datatype.json;
  assert.deepEqual(s.document('a'), { value: 'first', datatype, flags: 7, expiry, casHi, casLo });
  const { gets, getHits } = s.served.report();
  assert.deepEqual([gets, getHits], [3, 3]);
  assert.equal(s.served.collectionCounts.collections()[orders]?.gets, 3);
});

test('documents whose read has other effects are left to the data thread', async () => {
  const s = await started();
  s.store('a');
  assert.equal(await s.read('a'), 'value');
  assert.equal(await s.read('none'), null);
  const { items } = s.b.bucket.memory;
  const address = s.addressOf('a');
  const { dirty, used: _, ...others } = Bit;
  for (const bit of Object.values(others)) {
    items.setBits(address, bit);
    assert.equal(await s.read('a'), null, `bit ${bit}`);
    items.clearBits(address, bit);
    assert.equal(await s.read('a'), 'value');
  }
  items.setBits(address, dirty);
  assert.equal(s.readNow('a'), null, 'read in the turn of a change');
  assert.equal(await s.read('a'), 'value');
  s.store('expiring', { expiry: s.b.nowSeconds + 10 });
  assert.equal(await s.read('expiring'), 'value');
  s.b.clock.advance(9_500);
  assert.equal(await s.read('expiring'), null);
  s.store('x', { value: '\x00\x00\x00\x00body', datatype: Datatype.xattr });
  assert.equal(await s.read('x'), null);
  assert.equal(s.b.lock(`${orders}:a`), Status.success);
  assert.equal(await s.read('a'), null);
  s.store('large', { value: 'v'.repeat(300_000) });
  s.store('very large', { value: 'v'.repeat(3_000_000) });
  assert.deepEqual([await s.read('large'), await s.read('very large')], [null, null]);
  const { requests } = s;
  assert.equal(await s.read('very large'), null);
  assert.equal(s.requests, requests, 'its page is requested once');
});

test('documents that are read in memory are marked as used: those of short reads together, many at once', async () => {
  const s = await started();
  const { items } = s.b.bucket.memory;
  const isUsed = (name: string): boolean => (items.state(s.addressOf(name)) & Bit.used) !== 0;
  for (const name of ['a', 'b', 'not read']) assert.equal(s.b.store(`${orders}:${name}`), Status.success);
  assert.deepEqual([await s.read('a'), await s.read('b'), await s.read('a')], ['value', 'value', 'value']);
  assert.deepEqual([s.marks, isUsed('a')], [0, false]);
  s.b.tick(unmarkedMs);
  assert.deepEqual([s.marks, isUsed('a'), isUsed('b'), isUsed('not read')], [1, true, true, false]);
  assert.equal(await s.read('a'), 'value');
  s.b.tick(unmarkedMs);
  assert.equal(s.marks, 1, 'a marked document was marked again');
  const { gets } = s.served.report();
  assert.equal(gets, 4, 'a mark counts as a read');
  const names = Array.from({ length: 2_000 }, (_, at) => `many ${at}`);
  for (const name of names) s.b.store(`${orders}:${name}`);
  for (const name of names) assert.equal(await s.read(name), 'value');
  assert.ok(s.marks > 1 && s.marks < 20, `${s.marks} messages`);
  s.b.tick(unmarkedMs);
  assert.ok(names.every(isUsed));
});

test('a document that was read may be removed, evicted or dropped with its bucket before it is marked as used', async () => {
  const s = await started();
  for (const name of ['a', 'b']) s.b.store(`${orders}:${name}`);
  assert.deepEqual([await s.read('a'), await s.read('b')], ['value', 'value']);
  s.b.remove(`${orders}:a`);
  s.b.tick(unmarkedMs);
  assert.equal(await s.read('b'), 'value');
  s.b.store(`${orders}:c`);
  assert.equal(await s.read('c'), 'value');
  s.directory.buckets.delete('b');
  s.b.tick(unmarkedMs);
  assert.equal(s.marks, 2);
});

test('a vbucket is read only while this node serves it', async () => {
  const s = await started();
  s.store('a');
  const { columns } = s.b.bucket.memory;
  const nowMs = s.b.clock.monotonicMs();
  for (const [state, servedUntilMs, value] of [
    [VbucketState.active, Infinity, 'value'],
    [VbucketState.active, nowMs + 600_000, 'value'],
    [VbucketState.active, nowMs, null],
    [VbucketState.active, 0, null],
    [VbucketState.replica, Infinity, null],
    [VbucketState.pending, Infinity, null],
    [VbucketState.dead, Infinity, null],
  ] as const) {
    columns.state[0] = state;
    columns.servedUntilMs[0] = servedUntilMs;
    assert.equal(await s.read('a'), value, `state ${state} until ${servedUntilMs}`);
  }
});

test('nothing is read of a vbucket that becomes active, or ceases to be, during the read', async () => {
  const s = await started();
  s.store('a');
  const { bucket } = s.b;
  const follow = (state: 'active' | 'replica', epoch: number): Promise<boolean> =>
    bucket.followShards([{ state, epoch, replicas: [] }]);
  for (const [before, after] of [
    ['replica', 'active'],
    ['active', 'replica'],
  ] as const) {
    await follow('active', 1);
    assert.equal(await s.read('a'), 'value');
    await follow(before, 2);
    await null;
    let changed: Promise<boolean> | null = null;
    s.onTimeRead = () => (changed ??= follow(after, 3));
    assert.equal(s.readNow('a'), null, `${before} to ${after}`);
    s.onTimeRead = () => {};
    await changed;
  }
});

test('nothing is read of a collection that was dropped, or of a bucket that was closed or flushed', async () => {
  const s = await started();
  s.store('a');
  assert.equal(await s.read('a'), 'value');
  s.served.close();
  assert.equal(s.readNow('a'), null);
  openBucket(s.served, s.b.bucket);
  assert.equal(s.readNow('a'), null, 'read by a grant that has ended');
  assert.equal(await s.readLater('a'), 'value', 'not read by a new grant');
  s.served.close();
  await s.b.bucket.flush(2);
  openBucket(s.served, s.b.bucket);
  assert.equal(await s.read('a'), null);
  s.store('a', { value: 'after the flush' });
  assert.equal(await s.readLater('a'), 'after the flush');
  const [first] = spec.manifest.scopes;
  assert.ok(first);
  s.served.update({ ...spec, manifest: { uid: '3', scopes: [first] } });
  assert.equal(await s.read('a'), null);
});

test('tables that have grown and pages that got other memory are requested again', async () => {
  const s = await started();
  const names = Array.from({ length: 2_000 }, (_, at) => `document ${at}`);
  const { heap, index } = s.b.bucket.memory;
  const before = index.versions[0] as number;
  for (const [at, name] of names.entries()) {
    s.store(name, { value: `${name} ${'v'.repeat(900)}` });
    if (at % 500 === 0) assert.equal(await s.read(name), `${name} ${'v'.repeat(900)}`);
  }
  assert.ok((index.versions[0] as number) > before + 5);
  const page = s.pageOf('document 0');
  const version = heap.pageVersions[page];
  for (const name of names) s.b.remove(`${orders}:${name}`);
  for (const name of names) s.store(name, { value: `${name} ${'w'.repeat(700)}` });
  assert.notEqual(heap.pageVersions[page], version);
  for (const name of names) assert.equal(await s.read(name), `${name} ${'w'.repeat(700)}`);
  assert.ok(s.requests < 30, `${s.requests} requests`);
  (heap.pageVersions[s.pageOf('document 0')] as number)++;
  assert.equal(s.readNow('document 0'), null);
  assert.equal(await s.read('document 0'), `document 0 ${'w'.repeat(700)}`);
});

test('after about 64 turns with changes, a reader has to ask the data thread again before it reads memory itself', async () => {
  const s = await started();
  s.store('a');
  assert.equal(await s.read('a'), 'value');
  const { lock } = s.b.bucket.memory.heap;
  let found = 0;
  for (let turn = 0; turn < 200; turn++) {
    s.store('a', { value: `value ${turn}` });
    if ((await s.read('a')) === `value ${turn}`) found++;
  }
  assert.ok(found >= 60 && found < 70, `${found} found`);
  lock.noteReader();
  assert.equal(s.readNow('a'), null, 'read in the same turn');
  assert.equal(await s.read('a'), 'value 199');
});

test('tables of vbuckets that were emptied are released', async () => {
  const s = await started();
  const names = Array.from({ length: 6_000 }, (_, at) => `document ${at}`);
  for (const name of names) s.store(name);
  assert.equal(await s.read('document 1'), 'value');
  const { index } = s.b.bucket.memory;
  const memory = s.bucketMemory();
  const tableBytes = index.sharedTable(0)?.byteLength as number;
  await null;
  index.clear(0);
  assert.equal(memory.releaseOld(), tableBytes);
  assert.equal(memory.releaseOld(), 0);
});

test('references to released memory are collected once they are many', async () => {
  const s = await started();
  const names = Array.from({ length: 260 }, (_, at) => `document ${at}`);
  for (const name of names) s.store(name, { value: 'v'.repeat(250_000) });
  for (const name of names) assert.equal(await s.read(name), 'v'.repeat(250_000));
  for (const name of names) s.b.remove(`${orders}:${name}`);
  assert.equal(await s.read('document 1'), null);
  assert.equal(s.garbageCollections, 1);
});

test('nothing stays of a grant to a thread whose port was closed', async () => {
  const s = await started();
  const { port1, port2 } = new MessageChannel();
  new DocumentBatches(s.directory, () => {}).serve(port1, s.b.clock);
  port2.postMessage({ kind: 'memory', bucket: 'b', collection: orders, page: 1, vbucket: 0 });
  const [{ grant }] = (await once(port2, 'message')) as [MemoryReply];
  const { pagesReleased } = s.b.bucket.memory.heap;
  assert.ok(grant);
  assert.deepEqual([s.served.revoked.size, pagesReleased.size], [1, 1]);
  port2.close();
  await eventually(() => assert.deepEqual([s.served.revoked.size, pagesReleased.size], [0, 0]));
});

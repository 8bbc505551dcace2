import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { snappyInflate } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { BucketUnderTest, keyOf, withXattrs } from '../../../../test/support/a-bucket.ts';
import { DurabilityLevel, type FetchedDocument, notResident } from '../../data/documents.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';

const rules = {
  quotaBytes: 2 ** 30,
  maxTtl: 0,
  durabilityMinLevel: DurabilityLevel.none,
  replicaNumber: 0,
};
const text = JSON.stringify({ text: 'the same words again and again '.repeat(40) });
const incompressible = Buffer.from(Array.from({ length: 1_000 }, (_, at) => (at * at * 7919) >>> 5)).toString(
  'base64',
);

async function aBucket(compresses: boolean) {
  const bucket = await new BucketUnderTest({ rules: { ...rules, compresses } }).start();
  const storedValue = (key: string) => {
    assert.equal(bucket.find(key), Status.success);
    const { view } = bucket;
    const value = Buffer.from(view.buffer.subarray(view.valueStart, view.valueEnd));
    return { value, datatype: view.datatype, cas: [view.casHi, view.casLo], seqno: view.seqno };
  };
  const compression = () => bucket.bucket.activity().compression;
  return { bucket, storedValue, compression };
}

describe('background compression of values', () => {
  it('makes values smaller without a new CAS or seqno; reads show the same text', async () => {
    const { bucket, storedValue, compression } = await aBucket(true);
    for (let at = 0; at < 300; at++) bucket.store(`k${at}`, { value: text, datatype: Datatype.json, vb: 0 });
    const before = storedValue('k7');
    const usedBefore = bucket.bucket.activity().memory.items;
    for (let turn = 0; turn < 20; turn++) bucket.tick(100);
    const after = storedValue('k7');
    assert.equal(after.datatype, Datatype.json | Datatype.snappy);
    assert.equal(snappyInflate(after.value, 0, after.value.length, 1e6)?.toString(), text);
    assert.deepEqual([after.cas, after.seqno], [before.cas, before.seqno]);
    assert.deepEqual(compression(), { visited: 300, compressed: 300 });
    assert.ok(bucket.bucket.activity().memory.items < usedBefore / 2);
    assert.equal(bucket.store('k7', { value: 'new', casHi: after.cas[0] ?? 0, casLo: after.cas[1] ?? 0 }), 0);
    assert.equal(storedValue('k7').value.toString(), 'new');
    bucket.tick(5_000);
    assert.equal(compression().visited, 300, 'what is compressed is not visited again');
  });

  it('skips values that would not be smaller, and those that are short, deleted, large or have attributes', async () => {
    const { bucket, storedValue, compression } = await aBucket(true);
    bucket.store('incompressible', { value: incompressible });
    bucket.store('short', { value: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' });
    bucket.store('large', { value: 'x'.repeat(70_000) });
    bucket.store('attributes', { value: withXattrs({ _sys: '1' }, text), datatype: Datatype.xattr });
    bucket.store('gone', { value: text });
    bucket.remove('gone');
    for (let turn = 0; turn < 5; turn++) bucket.tick(100);
    assert.deepEqual(compression(), { visited: 1, compressed: 0 });
    for (const key of ['incompressible', 'short', 'large', 'attributes'])
      assert.equal(storedValue(key).datatype & Datatype.snappy, 0);
  });

  it('runs only while the bucket compresses actively, which may change at any time', async () => {
    const { bucket, compression } = await aBucket(false);
    bucket.store('k', { value: text });
    bucket.tick(10_000);
    assert.equal(compression().visited, 0);
    bucket.bucket.setRules({ compresses: true });
    bucket.tick(100);
    assert.equal(compression().compressed, 1);
    bucket.bucket.setRules({ compresses: false });
    bucket.store('k2', { value: text });
    bucket.tick(10_000);
    assert.equal(compression().compressed, 1);
  });

  it('waits while clients write much', async () => {
    const { bucket, compression } = await aBucket(true);
    const write = (count: number) => {
      for (let at = 0; at < count; at++) bucket.store(`k${at}`, { value: text });
    };
    write(1);
    bucket.tick(100);
    assert.equal(compression().visited, 1);
    // Longer than the pause between two rounds.
    for (let turn = 0; turn < 110; turn++) {
      write(600);
      bucket.tick(100);
    }
    assert.equal(compression().visited, 1);
    for (let turn = 0; turn < 10; turn++) bucket.tick(100);
    assert.ok(compression().compressed > 500, JSON.stringify(compression()));
  });

  it('compresses values that an earlier round skipped as not persisted, without another change', async () => {
    let sync = Promise.resolve();
    const disk = new MemoryDisk({ sync: () => sync }).engine();
    const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
    const bucket = new BucketUnderTest({ storage: { disk, files }, rules: { ...rules, compresses: true } });
    await bucket.start();
    const { promise, resolve } = Promise.withResolvers<void>();
    sync = promise;
    for (let at = 0; at < 20; at++) bucket.store(`k${at}`, { value: text });
    const persisted = new Promise((done) => bucket.bucket.documents.whenPersisted(0, 20, 10_000, done));
    bucket.tick(200);
    assert.deepEqual(bucket.bucket.activity().compression, { visited: 0, compressed: 0 });
    resolve();
    await persisted;
    bucket.tick(5_000);
    assert.deepEqual(bucket.bucket.activity().compression, { visited: 20, compressed: 20 });
    bucket.tick(5_000);
    assert.deepEqual(bucket.bucket.activity().compression, { visited: 20, compressed: 20 });
    await bucket.bucket.stop();
  });

  it('gives an evicted value back as the disk has it, also where memory has no room for it', async () => {
    for (const evictionPolicy of ['valueOnly', 'fullEviction'] as const) {
      const disk = new MemoryDisk().engine();
      const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
      const bucketRules = { ...rules, compresses: true };
      const bucket = new BucketUnderTest({ storage: { disk, files }, rules: bucketRules, evictionPolicy });
      await bucket.start();
      const { documents, keys } = bucket.bucket;
      bucket.store('k', { value: text, datatype: Datatype.json });
      const persisted = new Promise((done) => documents.whenPersisted(0, 1, 10_000, done));
      bucket.tick(200);
      await persisted;
      bucket.tick(5_000);
      assert.deepEqual(bucket.bucket.activity().compression, { visited: 1, compressed: 1 });
      assert.equal(keys.evict(0, keyOf('k')), Status.success);
      if (evictionPolicy === 'valueOnly') {
        assert.equal(documents.findMeta(0, keyOf('k'), 0, keyOf('k').length, bucket.view), Status.success);
        assert.equal(bucket.view.datatype, Datatype.json);
      }
      bucket.bucket.rules.quotaBytes = 0;
      assert.equal(bucket.find('k'), notResident);
      const found = await new Promise<FetchedDocument | Status>((done) => documents.awaitDisk(done));
      assert.ok(typeof found === 'object' && found.lacksRoom);
      documents.provideFetched(found);
      assert.equal(bucket.find('k'), Status.success);
      assert.deepEqual([bucket.view.datatype, bucket.value], [Datatype.json, text]);
      documents.provideFetched(null);
      bucket.bucket.rules.quotaBytes = rules.quotaBytes;
      assert.equal(await bucket.whenResident(() => bucket.find('k')), Status.success);
      assert.deepEqual([bucket.view.datatype, bucket.value], [Datatype.json, text]);
      await bucket.bucket.stop();
    }
  });

  it('compresses at most 512 KiB of values in a turn', async () => {
    const { bucket, compression } = await aBucket(true);
    for (let at = 0; at < 400; at++) bucket.store(`k${at}`, { value: text.repeat(8) });
    bucket.tick(100);
    const { visited } = compression();
    assert.ok(visited > 0 && visited * text.length * 8 < 512 * 1024, String(visited));
  });
});

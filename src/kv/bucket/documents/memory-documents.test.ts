import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snappyCompress } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { aRequest, BucketUnderTest, withXattrs } from '../../../../test/support/a-bucket.ts';
import { DurabilityLevel, StoreMode } from '../../data/documents.ts';

const aBucket = (options = {}): Promise<BucketUnderTest> => new BucketUnderTest(options).start();
const daySeconds = 24 * 3600;

test('a stored document is found with its metadata, and counted', async () => {
  const b = await aBucket();
  assert.equal(b.find('k'), Status.keyNotFound);
  assert.equal(b.store('k', { value: 'one', flags: 0xffffffff, datatype: Datatype.json }), Status.success);
  assert.equal(b.find('k'), Status.success);
  assert.equal(b.value, 'one');
  const { flags, datatype, expiry, casHi, casLo, seqno, rev, isDeleted, isLocked } = b.view;
  assert.deepEqual(
    { flags, datatype, expiry, casHi, casLo, seqno, rev, isDeleted, isLocked },
    {
      flags: 0xffffffff,
      datatype: Datatype.json,
      expiry: 0,
      ...b.cas,
      seqno: 1,
      rev: 1,
      isDeleted: false,
      isLocked: false,
    },
  );
  assert.equal(b.find('k', 1), Status.keyNotFound, 'the same key in another vbucket is another document');
  assert.deepEqual(b.bucket.stats().collectionItems, { 0: 1 });
});

test('values of every size are kept, and their memory is freed with them', async () => {
  const b = await aBucket();
  const sizes = [0, 1, 200, 5000, 70_000, 600_000, 2_000_000, 20 * 1024 * 1024];
  for (const size of sizes)
    assert.equal(b.store(`k${size}`, { value: Buffer.alloc(size, size & 0xff) }), Status.success);
  for (const size of sizes) {
    assert.equal(b.find(`k${size}`), Status.success);
    const stored = b.view.buffer.subarray(b.view.valueStart, b.view.valueEnd);
    assert.ok(
      stored.equals(Buffer.alloc(size, size & 0xff)),
      `a value of ${size} bytes is read with other bytes`,
    );
  }
  const full = b.bucket.stats().memUsed;
  for (const size of sizes) assert.equal(b.remove(`k${size}`), Status.success);
  assert.ok(b.bucket.stats().memUsed < full / 100);
});

test('a body above 20 MiB is refused, and system xattrs do not count', async () => {
  const b = await aBucket();
  const limit = 20 * 1024 * 1024;
  assert.equal(b.store('k', { value: Buffer.alloc(limit + 1) }), Status.tooBig);
  const xattrs = withXattrs({ _sync: `"${'x'.repeat(1000)}"` }, '');
  const value = Buffer.concat([xattrs, Buffer.alloc(limit)]);
  assert.equal(b.store('k', { value, datatype: Datatype.xattr }), Status.success);
  const user = Buffer.concat([withXattrs({ mine: `"${'x'.repeat(1000)}"` }, ''), Buffer.alloc(limit)]);
  assert.equal(b.store('k', { value: user, datatype: Datatype.xattr }), Status.tooBig);
});

test('add, replace and remove check whether the document exists', async () => {
  const b = await aBucket();
  assert.equal(b.store('k', { mode: StoreMode.replace }), Status.keyNotFound);
  assert.equal(b.remove('k'), Status.keyNotFound);
  assert.equal(b.store('k', { mode: StoreMode.add }), Status.success);
  assert.equal(b.store('k', { mode: StoreMode.add }), Status.keyExists);
  assert.equal(b.store('k', { mode: StoreMode.replace }), Status.success);
  assert.equal(b.remove('k'), Status.success);
  assert.equal(b.store('k', { mode: StoreMode.add, value: 'again' }), Status.success);
  assert.equal(b.find('k'), Status.success);
  assert.equal(b.view.rev, 4, 'the revision does not continue after the deletion');
});

test('a CAS must match an existing document', async () => {
  const b = await aBucket();
  assert.equal(b.store('k', { casLo: 1 }), Status.keyNotFound);
  b.store('k');
  const first = b.cas;
  assert.equal(b.store('k', { casLo: 1 }), Status.keyExists);
  assert.equal(b.remove('k', { casLo: 1 }), Status.keyExists);
  assert.equal(b.store('k', first), Status.success);
  assert.equal(b.store('k', first), Status.keyExists, 'a change left the CAS as it was');
  assert.equal(b.remove('k', b.cas), Status.success);
});

test('the CAS is the wall-clock time with its low 16 bits clear, and never goes back', async () => {
  const b = await aBucket();
  b.store('k');
  const value = (BigInt(b.result.casHi) << 32n) | BigInt(b.result.casLo);
  const expected = BigInt(b.clock.wallMs()) * 1_000_000n;
  assert.equal(value, expected - (expected % 65536n));
  b.store('k');
  assert.equal((BigInt(b.result.casHi) << 32n) | BigInt(b.result.casLo), value + 1n);
  b.now.set(b.clock.wallMs() - 60_000, b.clock.monotonicMs());
  b.store('k');
  assert.equal((BigInt(b.result.casHi) << 32n) | BigInt(b.result.casLo), value + 2n);
});

/** Stores a document as sub-document commands do, which know its CAS and seqno before. */
function storePeeked(b: BucketUnderTest, key: string): void {
  b.find(key);
  const next = { casHi: 0, casLo: 0, seqno: 0, pending: 9 }; // `peekNext` sets each
  b.bucket.documents.peekNext(next);
  assert.equal(b.store(key, { hasRoom: true }), Status.success);
  assert.deepEqual(b.result, next, key);
}

test('the CAS and the seqno of the next change are known before it', async () => {
  const b = await aBucket();
  for (let i = 0; i < 3; i++) storePeeked(b, 'k');
});

test('the CAS and the seqno of the next change are known in a cache too, which distributes keys by their hash', async () => {
  const b = await aBucket({ type: 'cache' });
  for (let i = 0; i < 200; i++) storePeeked(b, `k${i}`);
});

test('a locked document is changed only with the CAS of its lock, until the lock ends', async () => {
  const b = await aBucket();
  assert.equal(b.lock('k'), Status.keyNotFound);
  b.store('k');
  const old = b.cas;
  assert.equal(b.lock('k', 31), Status.success);
  const { cas } = b;
  assert.notDeepEqual(cas, old);
  assert.deepEqual(
    [b.lock('k'), b.touch('k'), b.store('k'), b.remove('k', old)],
    Array(4).fill(Status.locked),
  );
  assert.equal(b.store('k', { mode: StoreMode.add }), Status.keyExists);
  assert.ok(b.find('k') === Status.success && b.view.isLocked);
  assert.equal(b.unlock('k', old.casHi, old.casLo), Status.locked);
  b.tick(14_900);
  assert.equal(b.store('k'), Status.locked);
  b.tick(200);
  assert.equal(
    b.store('k'),
    Status.success,
    'a lock time above the maximum is not replaced by the default of 15 s',
  );
  assert.equal(b.unlock('k', b.cas.casHi, b.cas.casLo), Status.notLocked);
  b.lock('k', 30);
  assert.equal(b.store('k', b.cas), Status.success);
  assert.equal(b.store('k'), Status.success, 'a change with the CAS of the lock did not end the lock');
  b.lock('k');
  assert.equal(b.unlock('k', b.cas.casHi, b.cas.casLo), Status.success);
  assert.equal(b.remove('k'), Status.success);
  assert.equal(b.unlock('k', 0, 1), Status.keyNotFound);
});

test('the CAS of a lock whose time is over serves for one change, if the document is unchanged', async () => {
  const b = await aBucket();
  b.store('k');
  b.lock('k', 1);
  const ofLock = b.cas;
  b.tick(1_100);
  assert.equal(b.store('k', ofLock), Status.success);
  assert.equal(b.store('k', ofLock), Status.keyExists);
  b.lock('k', 1);
  const ofUnlocked = b.cas;
  assert.equal(b.unlock('k', ofUnlocked.casHi, ofUnlocked.casLo), Status.success);
  assert.equal(b.store('k', ofUnlocked), Status.keyExists);
});

test('a lock changes nothing in the document: afterwards it has the CAS from before', async () => {
  const b = await aBucket();
  b.store('k');
  const own = b.cas;
  const shown = (): object => {
    assert.equal(b.find('k'), Status.success);
    return { casHi: b.view.casHi, casLo: b.view.casLo };
  };
  b.lock('k');
  const first = b.cas;
  assert.equal(b.store('k', own), Status.locked);
  assert.equal(b.unlock('k', first.casHi, first.casLo), Status.success);
  assert.deepEqual(shown(), own);
  assert.equal(b.store('k', first), Status.keyExists, 'the CAS of a lock was accepted after its end');
  b.lock('k', 5);
  assert.notDeepEqual(b.cas, first);
  b.tick(5_100);
  assert.deepEqual(shown(), own);
  assert.equal(b.store('k', own), Status.success);
});

test('expiry is relative up to 30 days, absolute above, and turns the document into a tombstone', async () => {
  const b = await aBucket();
  b.store('k', { expiry: 30 * daySeconds });
  b.find('k');
  assert.equal(b.view.expiry, b.nowSeconds + 30 * daySeconds);
  b.store('k', { expiry: b.nowSeconds + 10, flags: 7 });
  const { seqno } = b.result;
  b.tick(10_000);
  assert.equal(b.find('k'), Status.keyNotFound);
  assert.equal(b.findAny('k'), Status.success);
  assert.ok(b.view.isDeleted && b.view.seqno === seqno + 1 && b.view.rev === 3);
  assert.deepEqual([b.view.expiry, b.value], [b.nowSeconds, '']);
  assert.equal(b.store('past', { expiry: b.nowSeconds - 10 }), Status.success);
  assert.equal(b.find('past'), Status.keyNotFound);
  assert.deepEqual([b.bucket.stats().items, b.bucket.stats().tombstones], [0, 2]);
});

test('a touch changes the expiry, with a new seqno and revision', async () => {
  const b = await aBucket();
  assert.equal(b.touch('k', { expiry: 5 }), Status.keyNotFound);
  b.store('k', { value: 'v' });
  assert.equal(b.touch('k', { expiry: 5 }), Status.success);
  assert.deepEqual([b.view.expiry, b.view.rev, b.view.seqno, b.value], [b.nowSeconds + 5, 2, 2, 'v']);
  b.store('k', { preserveExpiry: true, expiry: 99 });
  b.find('k');
  assert.equal(b.view.expiry, b.nowSeconds + 5);
  b.tick(5000);
  assert.equal(b.touch('k', { expiry: 5 }), Status.keyNotFound);
});

test('after the highest revision, which another cluster may give, revisions do not begin again', async () => {
  const b = await aBucket();
  const version = { casHi: 5, casLo: 5, rev: 2 ** 48 - 1, isDeletion: false, isExpiration: false };
  const incoming = { ...version, mustBeNew: false, rule: null, regeneratesCas: false };
  const { documents } = b.bucket;
  assert.equal(documents.storeIncoming(aRequest('k'), incoming, b.result), Status.success);
  assert.equal(
    documents.storeIncoming(aRequest('gone'), { ...incoming, isDeletion: true }, b.result),
    Status.success,
  );
  assert.equal(b.touch('k', { expiry: 1000 }), Status.success);
  assert.equal(b.view.rev, version.rev);
  for (const key of ['k', 'gone', 'new']) {
    assert.equal(b.store(key), Status.success);
    assert.equal(b.find(key), Status.success);
    assert.equal(b.view.rev, version.rev, key);
  }
});

test('the maximum time to live of the collection, else of the bucket, caps every expiry', async () => {
  const b = await aBucket({
    rules: { quotaBytes: 2 ** 30, maxTtl: 100, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 },
    manifest: {
      uid: '1',
      scopes: [
        {
          name: 's',
          uid: '8',
          collections: [
            { name: 'inherits', uid: '8', maxTTL: 0 },
            { name: 'never', uid: '9', maxTTL: -1 },
            { name: 'own', uid: 'a', maxTTL: 7 },
          ],
        },
      ],
    },
  });
  const expiryOf = (key: string, expiry: number): number => {
    assert.equal(b.store(key, { expiry }), Status.success);
    assert.equal(b.find(key), Status.success);
    return b.view.expiry === 0 ? 0 : b.view.expiry - b.nowSeconds;
  };
  assert.deepEqual([expiryOf('8:k', 0), expiryOf('8:k', 50), expiryOf('8:k', 500)], [100, 50, 100]);
  assert.deepEqual([expiryOf('9:k', 0), expiryOf('9:k', 500)], [0, 500]);
  assert.deepEqual([expiryOf('10:k', 0), expiryOf('10:k', 500)], [7, 7]);
  assert.equal(b.touch('10:k', { expiry: 0 }), Status.success);
  assert.equal(b.view.expiry, b.nowSeconds + 7);
  assert.equal(b.store('k'), Status.unknownCollection);
});

test('a deletion keeps system xattrs only; a store with keepXattrs keeps all', async () => {
  const b = await aBucket();
  const value = withXattrs({ _sync: '1', mine: '2' }, 'body');
  for (const isCompressed of [false, true]) {
    const stored = isCompressed ? snappyCompress(value, 0, value.length) : value;
    const datatype = Datatype.xattr | (isCompressed ? Datatype.snappy : 0);
    b.store('k', { value: stored, datatype });
    b.store('k', { value: 'new', keepXattrs: true, datatype: Datatype.json });
    b.find('k');
    assert.equal(b.value, withXattrs({ _sync: '1', mine: '2' }, 'new').toString('latin1'));
    assert.equal(b.view.datatype, Datatype.xattr | Datatype.json);
    b.store('k', { value: stored, datatype });
    b.remove('k');
    b.findAny('k');
    assert.equal(b.value, withXattrs({ _sync: '1' }, '').toString('latin1'));
    assert.equal(b.view.datatype, Datatype.xattr);
  }
  const body = Buffer.from('longer body '.repeat(9));
  b.store('k', { value: withXattrs({ a: '1' }, 'x'), datatype: Datatype.xattr });
  b.store('k', { value: snappyCompress(body, 0, body.length), datatype: Datatype.snappy, keepXattrs: true });
  b.find('k');
  assert.equal(b.view.datatype, Datatype.xattr);
  assert.equal(b.value, withXattrs({ a: '1' }, body.toString()).toString('latin1'));
});

test('tombstones count as existing for requests that say so, and keep the value that a deletion brings', async () => {
  const b = await aBucket();
  b.store('k');
  const value = withXattrs({ _x: '1' }, '');
  assert.equal(b.store('k', { mode: StoreMode.remove, value, datatype: Datatype.xattr }), Status.success);
  assert.equal(b.find('k'), Status.keyNotFound);
  assert.equal(b.findAny('k'), Status.success);
  assert.equal(b.value, value.toString('latin1'));
  assert.equal(b.store('k', { mode: StoreMode.replace }), Status.keyNotFound);
  const tombstone = b.cas;
  assert.equal(b.store('k', { mode: StoreMode.add, countsTombstone: true }), Status.keyExists);
  assert.equal(b.store('k', { mode: StoreMode.remove, countsTombstone: true, casLo: 1 }), Status.keyExists);
  const replacing = { mode: StoreMode.replace, countsTombstone: true, ...tombstone };
  assert.equal(b.store('k', replacing), Status.success);
  assert.equal(b.find('k'), Status.success);
  assert.deepEqual([b.bucket.stats().items, b.bucket.stats().tombstones], [1, 0]);
});

test('a full bucket refuses new data and still deletes', async () => {
  const b = await aBucket({
    rules: { quotaBytes: 200_000, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 },
  });
  let stored = 0;
  while (stored < 1000 && b.store(`k${stored}`, { value: Buffer.alloc(1000) }) === Status.success) stored++;
  assert.ok(stored > 150 && stored < 200, `${stored} fit`);
  assert.ok(b.bucket.stats().memUsed <= 200_000);
  assert.equal(b.store('other', { value: Buffer.alloc(1000) }), Status.temporaryFailure);
  assert.equal(
    b.store('k0', { value: Buffer.alloc(1000) }),
    Status.success,
    'a value of the same size does not replace the stored value',
  );
  assert.equal(b.touch('k0', { expiry: 100 }), Status.success);
  assert.equal(b.find('k0'), Status.success);
  for (let i = 0; i < stored; i++) assert.equal(b.remove(`k${i}`), Status.success);
  assert.equal(b.store('other', { value: Buffer.alloc(1000) }), Status.success);
  b.bucket.setRules({ quotaBytes: 1000 });
  assert.equal(b.store('more', { value: Buffer.alloc(1000) }), Status.temporaryFailure);
});

test('vbuckets that the bucket does not have are refused', async () => {
  const b = await aBucket();
  assert.deepEqual(
    [b.find('k', 64), b.store('k', { vb: 65_535 })],
    [Status.notMyVbucket, Status.notMyVbucket],
  );
  assert.ok(b.bucket.documents.isActive(63) && !b.bucket.documents.isActive(64));
});

test('a cache ignores the vbucket that a client names, and refuses durable writes', async () => {
  const b = await aBucket({ type: 'cache' });
  assert.equal(b.store('k', { vb: 40_000, value: 'v' }), Status.success);
  assert.equal(b.find('k', 3), Status.success);
  assert.equal(b.store('k', { durability: DurabilityLevel.majority }), Status.durabilityInvalidLevel);
});

test('without a disk the level majority is reached at once, and other levels are invalid; with a configured replica no level is possible', async () => {
  const b = await aBucket();
  assert.equal(b.store('k', { durability: DurabilityLevel.majority }), Status.success);
  assert.equal(b.result.pending, 0);
  assert.equal(
    b.store('k', { durability: DurabilityLevel.persistToMajority }),
    Status.durabilityInvalidLevel,
  );
  b.bucket.setRules({ replicaNumber: 1 });
  assert.equal(b.store('k', { durability: DurabilityLevel.majority }), Status.durabilityImpossible);
  assert.equal(b.store('k'), Status.success);
});

test('items of a dropped collection are freed in the background, and writes to it refused at once', async () => {
  const collections = [
    { name: 'a', uid: '8' },
    { name: 'b', uid: '9' },
  ];
  const manifest = (uid: string, count: number) => ({
    uid,
    scopes: [{ name: 's', uid: '8', collections: collections.slice(0, count) }],
  });
  const b = await aBucket({ manifest: manifest('1', 2) });
  for (let i = 0; i < 3000; i++) {
    b.store(`8:${i}`, { vb: i % 64 });
    b.store(`9:${i}`, { vb: i % 64 });
  }
  assert.deepEqual(b.bucket.stats().collectionItems, { 8: 3000, 9: 3000 });
  b.bucket.applyManifest(manifest('2', 1));
  assert.equal(b.store('9:1', { vb: 1 }), Status.unknownCollection);
  assert.deepEqual(b.bucket.stats().collectionItems, { 8: 3000 });
  b.tick(1000);
  assert.equal(b.bucket.stats().items, 3000);
  for (let i = 0; i < 3000; i++) assert.equal(b.find(`8:${i}`, i % 64), Status.success);
});

test('a flush removes every document and begins a new history', async () => {
  const b = await aBucket();
  b.store('k');
  const { cas } = b;
  const [before] = b.bucket.documents.failoverLog(0);
  await b.bucket.flush(2);
  assert.equal(b.find('k'), Status.keyNotFound);
  assert.equal(b.bucket.stats().memUsed, 0);
  assert.notDeepEqual(b.bucket.documents.failoverLog(0)[0], before);
  b.store('k');
  assert.equal(b.result.seqno, 1);
  assert.ok(b.cas.casHi > cas.casHi || b.cas.casLo > cas.casLo);
  assert.deepEqual(b.bucket.stats().collectionItems, { 0: 1 });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DataPortError } from '#client/data-port-error.ts';
import { BucketPositions } from './bucket-positions.ts';

/** A data service whose bucket is flushed before the replies with these numbers. History n has n * 10 changes. */
class FlushedBucket {
  history = 1;
  replies = 0;
  uuidReadings = 0;
  readonly flushesAt: ReadonlySet<number>;
  /**
   * Whether the vbuckets are on several nodes: then the client requests `historyDigest`, the digest of all vbucket uuids, only after the seqnos
   * were read.
   */
  private readonly isSpread: boolean;

  constructor(flushesAt: readonly number[], isSpread = false) {
    this.flushesAt = new Set(flushesAt);
    this.isSpread = isSpread;
  }

  async historyDigest(): Promise<string> {
    if (this.isSpread) await Promise.resolve();
    return String(this.reply());
  }

  async uuids(): Promise<BigUint64Array> {
    this.uuidReadings++;
    // One reply per vbucket: a flush can happen between two of them.
    return BigUint64Array.of(BigInt(this.reply()), BigInt(this.reply()));
  }

  async highSeqnos(): Promise<Float64Array> {
    const seqno = this.reply() * 10;
    return Float64Array.of(seqno, seqno);
  }

  private reply(): number {
    if (this.flushesAt.has(++this.replies)) this.history++;
    return this.history;
  }
}

test('seqnos and uuids are of one history whenever the bucket is flushed', async (t) => {
  const replyNumbers = Array.from({ length: 12 }, (_, at) => at + 1);
  t.plan(replyNumbers.length ** 2 * 8);
  for (const first of replyNumbers) {
    for (const [second, isSpread] of replyNumbers.flatMap((at) => [
      [at, false] as const,
      [at, true] as const,
    ])) {
      const bucket = new FlushedBucket([first, second], isSpread);
      const positions = new BucketPositions(bucket);
      for (let reading = 0; reading < 2; reading++) {
        const { history } = bucket;
        const { seqnos, uuids } = await positions.positionsOf(0);
        t.assert.deepEqual(
          [...uuids],
          [...seqnos].map((seqno) => BigInt(seqno / 10)),
        );
        t.assert.deepEqual(
          [...uuids].filter((uuid) => uuid < history),
          [],
          'uuids of a history that had ended before',
        );
      }
    }
  }
});

test('uuids are read once while histories do not change', async () => {
  const bucket = new FlushedBucket([]);
  const positions = new BucketPositions(bucket);
  for (let reading = 0; reading < 5; reading++) await positions.positionsOf(0);
  assert.equal(bucket.uuidReadings, 1);
});

test('vbuckets that move one after the other while positions are read delay a reading, but do not fail it', async () => {
  const count = 100;
  let moved = 0;
  const positions = new BucketPositions({
    historyDigest: async () => String(moved),
    uuids: async () => BigUint64Array.from({ length: count }, (_, vb) => (vb < moved ? 2n : 1n)),
    // Each reading meets the move of a vbucket.
    highSeqnos: async () => Float64Array.from({ length: count }, (_, vb) => (vb < moved++ % count ? 20 : 10)),
  });
  const { seqnos, uuids } = await positions.positionsOf(0);
  assert.deepEqual([seqnos.length, uuids.length, uuids.includes(0n)], [count, count, false]);
});

test('a vbucket whose uuid cannot be read is read again, although no history changes', async () => {
  let readings = 0;
  const positions = new BucketPositions({
    historyDigest: async () => 'the same',
    uuids: async () => BigUint64Array.of(1n, ++readings < 4 ? 0n : 2n),
    highSeqnos: async () => Float64Array.of(10, 20),
  });
  for (let reading = 0; reading < 2; reading++) {
    const { seqnos, uuids } = await positions.positionsOf(0);
    assert.deepEqual(
      [[...seqnos], [...uuids]],
      [
        [10, 20],
        [1n, 2n],
      ],
    );
  }
});

test('a reading fails while a vbucket cannot be read', async () => {
  const positions = new BucketPositions({
    historyDigest: async () => 'the same',
    uuids: async () => BigUint64Array.of(1n, 0n),
    highSeqnos: async () => Float64Array.of(10, 0),
  });
  await assert.rejects(() => positions.positionsOf(0), DataPortError);
});

test('a reading fails when histories change during each attempt', async () => {
  const always = Array.from({ length: 1_000 }, (_, at) => at);
  await assert.rejects(() => new BucketPositions(new FlushedBucket(always)).positionsOf(0), DataPortError);
});

test('positions are read again after a failure', async () => {
  const bucket = new FlushedBucket([]);
  const failure = new DataPortError('the connection ended');
  let isFailing = true;
  const positions = new BucketPositions({
    historyDigest: () => bucket.historyDigest(),
    highSeqnos: () => bucket.highSeqnos(),
    uuids: () => (isFailing ? Promise.reject(failure) : bucket.uuids()),
  });
  await assert.rejects(() => positions.positionsOf(0), failure);
  isFailing = false;
  assert.deepEqual([...(await positions.positionsOf(0)).seqnos], [10, 10]);
});

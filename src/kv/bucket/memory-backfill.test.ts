// Backfills from memory that take several turns of the thread, with changes between them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aSeed } from '../../../test/support/random.ts';
import { type CutItem, CutReader } from '../data/cut.ts';
import type { BackfillPage } from '../data/disk-engine.ts';
import { ownMemoryBytes } from '../data/documents.ts';

const documentCount = 30_000;

/** Deferred tasks wait until the test runs them. */
class TurnClock extends ManualClock {
  readonly turns: (() => void)[] = [];
  override soon(callback: () => void): void {
    this.turns.push(callback);
  }
}

async function aBucket(documents = documentCount) {
  const clock = new TurnClock();
  const b = await new BucketUnderTest({ clock, type: 'ephemeral' }).start();
  for (let i = 0; i < documents; i++) b.store(`k${i}`);
  const { changes } = b.bucket;
  /** Reads a page, and calls `between` before each turn that the read takes. */
  const page = async (
    after: number,
    between: () => void = () => {},
    read: 'backfill' | 'backfillForCopy' = 'backfill',
  ): Promise<BackfillPage & { turns: number }> => {
    let found: BackfillPage | null = null;
    let turns = 0;
    void changes[read](0, after).then((backfillPage) => (found = backfillPage));
    for (;;) {
      // Lets the callbacks of promises run: the read may have ended.
      await setImmediate();
      if (found !== null) return { ...(found as BackfillPage), turns };
      const next = clock.turns.shift();
      if (next === undefined) continue;
      turns++;
      between();
      next();
    }
  };
  return { b, changes, page };
}

/** Applies the page to a copy by key, and requires rising seqnos. */
function apply(copy: Map<string, number>, { batch }: BackfillPage, after: number): void {
  const reader = new CutReader(batch);
  let last = after;
  while (reader.nextCut())
    while (reader.nextItem()) {
      const { buffer, keyStart, keyEnd, seqno } = reader.item;
      assert.ok(seqno > last, `${seqno} after ${last}`);
      last = seqno;
      copy.set(buffer.toString('latin1', keyStart + 1, keyEnd), seqno);
    }
}

test('a large vbucket is listed once, over several turns, and each document returned in the order of seqnos', async () => {
  const { page } = await aBucket();
  const copy = new Map<string, number>();
  let turns = 0;
  let position = 0;
  for (let pages = 0; position < documentCount; pages++) {
    const next = await page(position);
    apply(copy, next, position);
    turns += next.turns;
    // The listing takes several turns, but a page of a listed vbucket only one.
    assert.ok(pages === 0 || next.turns === 1, 'the vbucket was listed again for a page');
    position = next.toSeqno;
    assert.equal(next.endSeqno, documentCount);
  }
  assert.equal(copy.size, documentCount);
  assert.ok(turns > 5, `${turns} turns`);
});

test('at the end of a snapshot a reader has the newest version of each document, also of those that changed meanwhile', async (t) => {
  const random = aSeed(t);
  for (const isFollowed of [true, false]) {
    const { b, changes, page } = await aBucket();
    const follower = { position: 0, changed: () => {} };
    if (isFollowed) changes.follow(0, follower);
    const newest = new Map<string, number>(
      Array.from({ length: documentCount }, (_, at) => [`k${at}`, at + 1]),
    );
    let high = documentCount;
    let left = 3_000;
    const change = () => {
      for (let some = random(400); some > 0 && left > 0; some--, left--) {
        const key = `k${random(documentCount + 500)}`;
        b.store(key);
        newest.set(key, ++high);
      }
    };
    const copy = new Map<string, number>();
    let position = 0;
    for (;;) {
      change();
      const next = await page(position, change);
      apply(copy, next, position);
      assert.ok(next.toSeqno >= position && next.endSeqno === changes.visibleSeqno(0));
      position = next.toSeqno;
      if (position === next.endSeqno) break;
    }
    assert.equal(position, high);
    assert.deepEqual(copy, newest);
    assert.ok(left < 2_000, `only ${3_000 - left} changes were made meanwhile`);
  }
});

test('a page for a stream refers to large documents in the memory of the bucket; a page for a copy contains them', async () => {
  const { page, b } = await aBucket(1);
  const value = 'v'.repeat(ownMemoryBytes);
  b.store('large', { value });
  b.store('after');
  const streamed = await page(0);
  // The first large document fills a page.
  assert.deepEqual([streamed.toSeqno, streamed.inPlace?.size], [2, 1]);
  const { buffer, valueEnd, valueStart } = streamed.inPlace!.get(2) as CutItem;
  assert.ok(streamed.batch.length < 1024);
  assert.ok(buffer.buffer instanceof SharedArrayBuffer);
  b.store('large', { value: 'w'.repeat(ownMemoryBytes) });
  assert.equal(buffer.toString('latin1', valueStart, valueEnd), value);
  const copied = await page(0, () => {}, 'backfillForCopy');
  assert.deepEqual([copied.toSeqno, copied.inPlace?.size], [4, 0]);
  assert.ok(copied.batch.length > ownMemoryBytes);
});

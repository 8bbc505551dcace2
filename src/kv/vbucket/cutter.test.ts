import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aSeed } from '../../../test/support/random.ts';
import { type CutItem, CutReader, CutWriter } from '../data/cut.ts';
import { Cutter } from './cutter.ts';
import { emptyPosition } from './item-position.ts';
import { emptyDraft } from './items.ts';
import { LiveCollections } from './live-collections.ts';
import { Now } from './now.ts';
import { Vbuckets } from './vbuckets.ts';

interface Cut {
  start: number;
  end: number;
  seqnos: number[];
}

/** A vbucket: `write` stores a value of `bytes` bytes and returns its seqno, `cut` takes the next cut. */
function aVbucket(): { write: (key: string, bytes?: number) => number; cut: (limitBytes: number) => Cut } {
  const collections = new LiveCollections();
  collections.apply([{ id: 0, maxTtl: 0 }]);
  const vbuckets = new Vbuckets({ count: 1, now: new Now(), collections, hashSeed: 1, isPersistent: true });
  const cutter = new Cutter(vbuckets);
  const draft = emptyDraft();
  const position = emptyPosition();
  const result = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };
  const write = (key: string, bytes = 100): number => {
    draft.key = Buffer.from(`\0${key}`);
    draft.keyEnd = draft.key.length;
    draft.value = Buffer.alloc(bytes);
    draft.valueEnd = bytes;
    vbuckets.locate(position, 0, vbuckets.hash(draft.key, 0, draft.keyEnd), draft.key, 0, draft.keyEnd);
    assert.ok(vbuckets.write(position, draft, result));
    return result.seqno;
  };
  return { write, cut: (limitBytes) => takeCut(cutter, limitBytes) };
}

function takeCut(cutter: Cutter, limitBytes: number): Cut {
  const writer = new CutWriter();
  const end = cutter.cut(0, writer, limitBytes);
  const reader = new CutReader(writer.drain());
  assert.ok(reader.nextCut());
  const seqnos: number[] = [];
  while (reader.nextItem()) seqnos.push((reader.item as CutItem).seqno);
  assert.equal(reader.state.endSeqno, end);
  assert.ok(!reader.nextCut());
  return { start: reader.state.startSeqno, end, seqnos };
}

test('after each random cut, all cuts so far together give the state of the vbucket at the end seqno of that cut', (t) => {
  const random = aSeed(t);
  const { write, cut } = aVbucket();
  const writes: string[] = [];
  const stored = new Map<number, string>();
  for (let round = 0; round < 100; round++) {
    for (let i = random(30); i > 0; i--) {
      const key = `k${random(random(2) === 0 ? 5 : 500)}`;
      assert.equal(write(key, random(300)), writes.push(key));
    }
    const { end, seqnos } = cut(random(3) === 0 ? Infinity : random(6000));
    for (const seqno of seqnos) stored.set(seqno, writes[seqno - 1] as string);
    const newest = new Map([...stored].sort(([a], [b]) => a - b).map(([seqno, key]) => [key, seqno]));
    const expected = new Map(writes.slice(0, end).map((key, i) => [key, i + 1]));
    assert.deepEqual([...newest].sort(), [...expected].sort());
  }
});

test('a cut has the newest version of each key, in the order of seqnos', () => {
  const { write, cut } = aVbucket();
  for (const key of ['a', 'b', 'c', 'a', 'b']) write(key);
  assert.deepEqual(cut(Infinity), { start: 1, end: 5, seqnos: [3, 4, 5] });
  assert.deepEqual(cut(Infinity), { start: 5, end: 5, seqnos: [] });
  write('c');
  assert.deepEqual(cut(Infinity), { start: 6, end: 6, seqnos: [6] });
});

test('a large vbucket is written in several consecutive cuts', () => {
  const { write, cut } = aVbucket();
  for (let i = 0; i < 10; i++) write(`k${i}`, 1000);
  assert.deepEqual(cut(2500), { start: 1, end: 3, seqnos: [1, 2, 3] });
  assert.deepEqual(cut(1), { start: 4, end: 4, seqnos: [4] });
  assert.deepEqual(cut(Infinity), { start: 5, end: 10, seqnos: [5, 6, 7, 8, 9, 10] });
});

test('no cut ends between a version that was replaced and the one that replaced it', () => {
  const { write, cut } = aVbucket();
  for (const key of ['a', 'b', 'c', 'd', 'b', 'e', 'f']) write(key);
  assert.deepEqual(cut(1), { start: 1, end: 1, seqnos: [1] });
  assert.deepEqual(cut(1), { start: 2, end: 5, seqnos: [3, 4, 5] }, 'b was written at 2 and again at 5');
  assert.deepEqual(cut(1), { start: 6, end: 6, seqnos: [6] });
  write('f');
  assert.deepEqual(cut(1), { start: 7, end: 8, seqnos: [8] });
});

test('an item that changes after it was cut goes into the next cut again', () => {
  const { write, cut } = aVbucket();
  for (const key of ['a', 'b', 'c']) write(key);
  assert.equal(cut(1).end, 1);
  write('a');
  assert.deepEqual(
    cut(1),
    { start: 2, end: 2, seqnos: [2] },
    'the version at 1 is in a cut: ending at 2 is fine',
  );
  assert.deepEqual(cut(Infinity).seqnos, [3, 4]);
});

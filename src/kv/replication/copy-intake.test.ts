import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import type { Applier } from '../bucket/documents/applier.ts';
import { CutWriter, emptyCutItem, stateOfVbucket } from '../data/cut.ts';
import {
  type DocumentResult,
  type FetchedDocument,
  notResident,
  type WhenFetched,
} from '../data/documents.ts';
import { CopyIntake } from './copy-intake.ts';
import type { BatchBody, CopyBatch } from './frames.ts';

const batch: CopyBatch = {
  kind: 'batch',
  bucket: 'b',
  shard: 0,
  epoch: 1,
  vb: 0,
  start: 6,
  to: 8,
  end: 8,
  live: true,
  isAwaited: true,
  awaitsDisk: false,
};

const fetchedKey: FetchedDocument = { vb: 0, key: Buffer.from('key'), item: null, lacksRoom: false };

/** An intake whose copy is at seqno 5; `apply` decides what becomes of each item. While `isDiskBusy`, reads from disk are refused at once. */
function anIntake(apply: (seqno: number) => DocumentResult, isDiskBusy = () => false) {
  const clock = new SimulatedClock();
  const seen: string[] = [];
  const fetches: WhenFetched[] = [];
  let high = 5;
  const applier: Partial<Applier> = {
    begin: () => Status.success,
    adoptHistory: (_, encoded) => {
      seen.push(`history ${Buffer.from(encoded).toString()}`);
      return Status.success;
    },
    apply: (_, { buffer, keyEnd, keyStart, seqno, valueEnd }) => {
      assert.match(buffer.toString('latin1', keyStart, keyEnd), /^key$/);
      assert.match(buffer.toString('latin1', keyEnd, valueEnd), /^value/);
      const status = apply(seqno);
      if (status === Status.success) high = seqno;
      seen.push(`${seqno}: ${status === Status.success ? 'applied' : 'later'}`);
      return status;
    },
    advance: (_, seqno) => {
      high = seqno;
      return Status.success;
    },
    setPhase: () => Status.success,
    awaitDisk: (done) => {
      if (isDiskBusy()) done(Status.temporaryFailure);
      else fetches.push(done);
    },
  };
  const intake = new CopyIntake({
    applier: applier as Applier,
    clock,
    tick: () => {},
    highSeqno: () => high,
    applied: ({ vb }, bytes) => seen.push(`${bytes} bytes of ${vb}`),
    failed: (reason) => seen.push(`failed: ${reason}`),
  });
  return { clock, fetches, intake, seen };
}

const noBody = { bytes: Buffer.alloc(0), start: 0, end: 0, items: 0 };
const asCuts = (bytes: Buffer): BatchBody => ({ bytes, start: 0, end: bytes.length, items: -1 });

/** Items as they are in a frame of several batches: without the header of a cut, between other bytes. */
function itemsOf(...seqnos: number[]): BatchBody {
  const writer = new CutWriter();
  writer.begin(0);
  writer.finish(stateOfVbucket(0));
  const headerBytes = writer.drain().length;
  writer.begin(0);
  for (const seqno of seqnos)
    writer.itemOf({ ...emptyCutItem(), seqno }, Buffer.from('key'), Buffer.from(`value ${seqno}`));
  writer.finish(stateOfVbucket(0));
  const around = Buffer.alloc(7, 0xff);
  const bytes = Buffer.concat([around, writer.takeAll().subarray(headerBytes), around]);
  return { bytes, start: 7, end: bytes.length - 7, items: seqnos.length };
}

function cutsOf(...seqnos: number[]): BatchBody {
  const writer = new CutWriter();
  for (const seqno of seqnos) {
    writer.begin(0);
    writer.itemOf({ ...emptyCutItem(), seqno }, Buffer.from('key'), Buffer.from('value'));
    writer.finish(stateOfVbucket(0));
  }
  return asCuts(Buffer.from(writer.takeAll()));
}

test('a batch that does not continue the copy fails it, since the changes between would be missing', () => {
  for (const start of [5, 6, 7]) {
    const { intake, seen } = anIntake(() => Status.success);
    intake.receive({ ...batch, start }, noBody, 10);
    const expected =
      start === 6 ? '10 bytes of 0' : `failed: status ${Status.outOfRange} at seqno ${start} of vbucket 0`;
    assert.deepEqual(seen, [expected], `from ${start}`);
  }
});

for (const [form, of] of Object.entries({ cuts: cutsOf, items: itemsOf }))
  test(`batches of ${form} are applied at once, in order; those behind an item that waits for the disk or for memory wait with it`, () =>
    waits(of));

async function waits(of: typeof cutsOf): Promise<void> {
  const answers: DocumentResult[] = [Status.success, notResident, Status.temporaryFailure];
  const { clock, fetches, intake, seen } = anIntake(() => answers.shift() ?? Status.success);
  const bodies = [of(6, 7, 8), of(9, 10)] as const;
  const head = { ...batch };
  intake.receive(head, bodies[0], 10);
  const failover = Buffer.from('uuid');
  intake.receive({ ...batch, start: 9, to: 10, end: 10, failover }, bodies[1], 20);
  // The caller of `receive` reads the next bytes of the connection into the same memory.
  for (const bytes of [...bodies.map(({ bytes }) => bytes), failover]) bytes.fill(0xff);
  Object.assign(head, { vb: 9, start: 0, to: 0 });
  assert.deepEqual(seen.splice(0), ['6: applied', '7: later']);
  for (const done of fetches) done(fetchedKey);
  assert.deepEqual(seen.splice(0), ['7: later']);
  await clock.run(100);
  const expected = [
    '7: applied',
    '8: applied',
    '10 bytes of 0',
    'history uuid',
    '9: applied',
    '10: applied',
    '20 bytes of 0',
  ];
  assert.deepEqual(seen, expected);
}

test('an item whose read from disk is refused at once, since too many documents are being read, is retried before later batches', async () => {
  let isBusy = true;
  const answers: DocumentResult[] = [notResident, notResident, notResident];
  const { clock, fetches, intake, seen } = anIntake(
    () => answers.shift() ?? Status.success,
    () => isBusy,
  );
  intake.receive(batch, cutsOf(6, 7, 8), 10);
  intake.receive({ ...batch, start: 9, to: 9, end: 9 }, cutsOf(9), 20);
  assert.deepEqual(seen.splice(0), ['6: later']);
  await clock.run(30);
  assert.deepEqual(seen.splice(0), ['6: later']);
  isBusy = false;
  await clock.run(30);
  assert.deepEqual(seen.splice(0), ['6: later']);
  for (const done of fetches) done(fetchedKey);
  const applied = ['6: applied', '7: applied', '8: applied', '10 bytes of 0', '9: applied', '20 bytes of 0'];
  assert.deepEqual(seen, applied);
});

test('a document that memory has no room for is read again after a pause', async () => {
  const answers: DocumentResult[] = [notResident, notResident];
  const { clock, fetches, intake, seen } = anIntake(() => answers.shift() ?? Status.success);
  intake.receive(batch, cutsOf(6), 10);
  fetches.shift()?.({ ...fetchedKey, lacksRoom: true });
  assert.deepEqual([fetches.length, seen.splice(0)], [0, ['6: later']]);
  await clock.run(100);
  fetches.shift()?.(fetchedKey);
  assert.deepEqual(seen, ['6: later', '6: applied', '10 bytes of 0']);
});

test('items that end before their batch, or run over its end, are refused', () => {
  const body = itemsOf(6, 7);
  for (const bad of [{ items: 1 }, { items: 3 }, { end: body.end - 1 }]) {
    const { intake, seen } = anIntake(() => Status.success);
    assert.throws(() => intake.receive(batch, { ...body, ...bad }, 10), /item/);
    assert.ok(!seen.some((line) => line.includes('bytes')));
  }
});

test('a copy that is closed while an item waits applies nothing more', async () => {
  const { clock, intake, seen } = anIntake(() => Status.outOfMemory);
  intake.receive(batch, cutsOf(6), 10);
  intake.receive({ ...batch, start: 9, to: 9, end: 9 }, cutsOf(9), 20);
  assert.equal(intake.close(), 30, 'bytes that are not applied');
  await clock.run(100);
  assert.deepEqual(seen, ['6: later']);
});

test('a batch whose changes are not readable fails the copy, also after an item that waited', async () => {
  const cuts = cutsOf(6).bytes;
  for (const bad of [Buffer.alloc(80), cuts.subarray(0, 90), Buffer.alloc(3)]) {
    const { intake, seen } = anIntake(() => Status.success);
    assert.throws(() => intake.receive(batch, asCuts(bad), 10));
    assert.ok(!seen.some((line) => line.includes('bytes')));
  }
  const { clock, intake, seen } = anIntake((seqno) =>
    seqno === 6 && seen.length === 0 ? Status.outOfMemory : Status.success,
  );
  intake.receive(batch, asCuts(Buffer.concat([cuts, Buffer.alloc(80)])), 10);
  await clock.run(100);
  assert.deepEqual(seen.slice(0, 2), ['6: later', '6: applied']);
  assert.match(seen[2] ?? '', /^failed: /);
});

test('close returns the bytes that are not applied, including those of the batch that failed', () => {
  const { intake } = anIntake(() => Status.success);
  intake.receive(batch, cutsOf(6, 7, 8), 10);
  assert.equal(intake.close(), 0);
  const failing = anIntake(() => Status.outOfRange).intake;
  failing.receive(batch, cutsOf(6), 20);
  assert.equal(failing.close(), 20);
});

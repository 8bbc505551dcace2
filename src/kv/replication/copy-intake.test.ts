import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import type { Applier } from '../bucket/documents/applier.ts';
import { CutWriter } from '../data/cut.ts';
import { CopyIntake } from './copy-intake.ts';

test('a batch that does not continue the copy fails it, since the changes between would be missing', async () => {
  for (const start of [5, 6, 7]) {
    const clock = new SimulatedClock();
    const seen: string[] = [];
    const succeeds = (): Status => Status.success;
    const applier: Partial<Applier> = {
      begin: succeeds,
      apply: succeeds,
      advance: succeeds,
      setPhase: succeeds,
    };
    const intake = new CopyIntake({
      applier: applier as Applier,
      clock,
      tick: () => {},
      highSeqno: () => 5,
      applied: () => seen.push('applied'),
      failed: () => seen.push('failed'),
    });
    const batch = {
      kind: 'batch',
      bucket: 'b',
      shard: 0,
      epoch: 1,
      vb: 0,
      start,
      to: 8,
      end: 8,
      live: true,
    } as const;
    intake.take(batch, Buffer.from(new CutWriter().takeAll()), 10);
    await clock.run(10);
    assert.deepEqual(seen, [start === 6 ? 'applied' : 'failed'], `from ${start}`);
  }
});

test('closing says how many bytes are not applied', async () => {
  const clock = new SimulatedClock();
  let isFull = false;
  const succeeds = (): Status => Status.success;
  const applier: Partial<Applier> = { begin: succeeds, advance: succeeds, setPhase: succeeds };
  applier.takeHistory = () => (isFull ? Status.outOfMemory : Status.success);
  const seen: (number | string)[] = [];
  const intake = new CopyIntake({
    ...{ applier: applier as Applier, clock, tick: () => {}, highSeqno: () => 5 },
    applied: (_, bytes) => seen.push(bytes),
    failed: (reason) => seen.push(reason, intake.close()),
  });
  const batch = { kind: 'batch', bucket: 'b', shard: 0, epoch: 1, vb: 0, live: true } as const;
  const next = { ...batch, start: 6, to: 6, end: 6 };
  const body = Buffer.from(new CutWriter().takeAll());
  intake.take(next, body, 10);
  await clock.run(10);
  isFull = true;
  intake.take({ ...next, failover: '' }, body, 20);
  intake.take(next, body, 30);
  await clock.run(10);
  assert.deepEqual(seen, [10, `status ${Status.outOfMemory} at seqno 6 of vbucket 0`, 50]);
});

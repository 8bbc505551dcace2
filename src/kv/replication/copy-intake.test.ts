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

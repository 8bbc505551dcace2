import assert from 'node:assert/strict';
import { it } from 'node:test';
import { realClock } from '#ports/clock.ts';
import type { Frame } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { CommandError } from '../exit-status.ts';
import type { BucketData } from '../remote/bucket-data.ts';
import { LoadRun } from './load-run.ts';

const plan = {
  collectionId: 0,
  prefix: '',
  documents: 1,
  value: Buffer.from('{}'),
  readShare: 1,
  inFlight: 1,
  rate: 100,
  durationMs: 60_000,
};
const success = { vb: Status.success } as Frame;

it('ends with the reason if a connection was lost while no request waited for a reply', async () => {
  let isLost = false;
  const send = (_: unknown, receive: (reply: Frame) => unknown): void => {
    receive(success);
    isLost = true;
  };
  const data = {
    senderOf() {
      if (isLost) throw new CommandError('the connection to bucket "b" was lost');
      return { send };
    },
  } as unknown as BucketData;
  const run = new LoadRun([data], plan, () => 0);
  await assert.rejects(run.run(new AbortController().signal), /the connection to bucket "b" was lost/);
});

it('measures its time up to its end, without what the command does afterwards', async () => {
  const send = (_: unknown, receive: (reply: Frame) => unknown): void => void receive(success);
  const data = { senderOf: () => ({ send }) } as unknown as BucketData;
  const run = new LoadRun([data], { ...plan, durationMs: 1 }, () => 0);
  await run.run(new AbortController().signal);
  const { elapsedMs } = run;
  await realClock.sleep(5);
  assert.equal(run.elapsedMs, elapsedMs);
});

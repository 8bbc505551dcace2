import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Frame } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { CommandError } from '../exit-status.ts';
import type { BucketData } from '../remote/bucket-data.ts';
import { LoadRun } from './load-run.ts';

it('ends with the reason if a connection was lost while no request waited for a reply', async () => {
  let isLost = false;
  const success = { vb: Status.success } as Frame;
  const send = (_: unknown, take: (reply: Frame) => unknown): void => {
    take(success);
    isLost = true;
  };
  const data = {
    senderOf() {
      if (isLost) throw new CommandError('the connection to bucket "b" was lost');
      return { send };
    },
  } as unknown as BucketData;
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
  const run = new LoadRun([data], plan, () => 0);
  await assert.rejects(run.run(new AbortController().signal), /the connection to bucket "b" was lost/);
});

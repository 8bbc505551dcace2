import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { beginFeed } from './feed-watch.ts';

test('a feed that begins after its time limit is stopped at once', async () => {
  const clock = new ManualClock();
  const begun = Promise.withResolvers<{ stop(): void }>();
  const feed = { changed() {}, complete() {}, lost() {} };
  const beginning = beginFeed({ follow: () => begun.promise }, feed, { clock, limitMs: 3_000 });
  clock.advance(3_000);
  await assert.rejects(beginning, /no answer in time/);
  const stopped = Promise.withResolvers<void>();
  begun.resolve({ stop: () => stopped.resolve() });
  await stopped.promise;
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advanceUntilDone, runPromises } from '../../test/support/advance-clock.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { LoginThrottle } from './login-throttle.ts';

test('delays a bounded number of answers', async () => {
  const clock = new ManualClock();
  const throttle = new LoginThrottle(clock);
  let answered = 0;
  const answers = Array.from({ length: 1_100 }, (_, n) =>
    throttle.failed('source', `user${n}`).then(() => {
      answered++;
    }),
  );
  await runPromises();
  assert.equal(answered, 100);
  clock.advance(20_000);
  await Promise.all(answers);
  assert.equal(answered, 1_100);
});

test('the login throttle discards the oldest failures when more than ten thousand are counted, by source and by pair of source and user together', async () => {
  const clock = new ManualClock();
  const throttle = new LoginThrottle(clock);
  for (let n = 0; n < 5; n++) await advanceUntilDone(clock, throttle.failed('first', 'jane'));
  assert.ok(throttle.isSuspect('first'));
  const others = Promise.all(Array.from({ length: 5_000 }, (_, n) => throttle.failed(`other${n}`, 'x')));
  await advanceUntilDone(clock, others);
  assert.ok(!throttle.isSuspect('first'));
});

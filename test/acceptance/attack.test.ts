// The bounded form of `test/stress/attack.ts`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { damageRounds } from '../stress/damage.ts';
import { hostileRounds } from '../stress/hostile.ts';
import { privilegeRounds } from '../stress/privileges.ts';
import { aSeed } from '../support/random.ts';

test('users with random privileges are answered every command as the table says', async (t) => {
  const { asked, refused } = await privilegeRounds(12, aSeed(t));
  assert.ok(asked > 1_000 && refused > 500, `${asked} asked, ${refused} refused`);
});

test('hostile frames, requests and documents end nothing and disturb nobody', async (t) => {
  const { answered, statuses } = await hostileRounds(2, aSeed(t));
  assert.ok(answered > 200 && statuses > 8, `${answered} frames answered with ${statuses} statuses`);
});

test('damage in any kind of file is reported, or changes nothing', async (t) => {
  const outcomes = await damageRounds(4, aSeed(t), (line) => t.diagnostic(line));
  assert.ok([...outcomes.values()].reduce((sum, count) => sum + count, 0) === 4);
});

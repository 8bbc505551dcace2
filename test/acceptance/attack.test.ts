// The bounded form of `test/stress/attack.ts`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { damageRounds } from '../stress/damage.ts';
import { hostileRounds } from '../stress/hostile.ts';
import { privilegeRounds } from '../stress/privileges.ts';
import { aSeed } from '../support/random.ts';

test('answers every command of users with random privileges as the published table requires', async (t) => {
  const { requests, refused } = await privilegeRounds(12, aSeed(t));
  assert.ok(requests > 1_000 && refused > 500, `${requests} commands sent, ${refused} refused`);
});

test('hostile frames, requests and documents neither stop the node nor disturb other clients', async (t) => {
  const { answered, statuses } = await hostileRounds(2, aSeed(t));
  assert.ok(answered > 200 && statuses > 8, `${answered} frames answered with ${statuses} statuses`);
});

test('reports damage in any kind of file, or is not affected by it', async (t) => {
  const outcomes = await damageRounds(4, aSeed(t), (line) => t.diagnostic(line));
  assert.ok([...outcomes.values()].reduce((sum, count) => sum + count, 0) === 4);
});

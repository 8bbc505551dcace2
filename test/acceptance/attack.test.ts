// The short form of `test/stress/attack.ts`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { damageRounds } from '../stress/damage.ts';
import { hostileRounds } from '../stress/hostile.ts';
import { privilegeRounds } from '../stress/privileges.ts';
import { aSeed } from '../support/random.ts';

test('answers every command of users with random privileges as the published table requires', async (t) => {
  const users = 12;
  const { requests, refused } = await privilegeRounds(users, aSeed(t));
  assert.ok(requests > 1_000 && refused > 500, `${requests} commands sent, ${refused} refused`);
});

test('hostile frames, requests and documents neither stop the node nor disturb other clients', async (t) => {
  const rounds = 2;
  const { answered, statuses } = await hostileRounds(rounds, aSeed(t));
  assert.ok(answered > 200 && statuses > 8, `${answered} frames answered with ${statuses} statuses`);
});

test('a node and a cloud report damage in any kind of file, or are not affected by it', async (t) => {
  const rounds = 4;
  const outcomes = await damageRounds(rounds, aSeed(t), (line) => t.diagnostic(line));
  const counted = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
  assert.equal(counted, rounds, 'each round has an outcome');
});

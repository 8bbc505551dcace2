// The short form of `test/stress/attack.ts`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { damageRounds } from '../stress/damage.ts';
import { hostileRounds } from '../stress/hostile.ts';
import { privilegeRounds } from '../stress/privileges.ts';
import { aSeed } from '../support/random.ts';

test('the node answers every command of users with random privileges as the published table requires', async (t) => {
  const users = 12;
  const { requests, refused } = await privilegeRounds(users, aSeed(t));
  assert.ok(requests > 1_000 && refused > 500, `${requests} commands sent, ${refused} refused`);
});

test('hostile frames, requests and documents neither stop the node nor disturb other clients', async (t) => {
  const random = aSeed(t);
  const sum = { answered: 0, statuses: 0 };
  const isEnough = (): boolean => sum.answered > 200 && sum.statuses > 8;
  // How many frames are answered, and with which statuses, is left to chance.
  for (let runs = 0; runs < 5 && !isEnough(); runs++) {
    const rounds = 2;
    const { answered, statuses } = await hostileRounds(rounds, random);
    sum.answered += answered;
    sum.statuses = Math.max(sum.statuses, statuses);
    t.diagnostic(`${answered} frames answered with ${statuses} statuses`);
  }
  assert.ok(isEnough(), `${sum.answered} frames answered with ${sum.statuses} statuses`);
});

test('a node and a cloud report damage in any kind of file, or are not affected by it', async (t) => {
  const rounds = 3;
  const outcomes = await damageRounds(rounds, aSeed(t), (line) => t.diagnostic(line));
  const counted = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
  assert.equal(counted, rounds, 'each round has an outcome');
});

// The short form of `test/stress/query-kill.ts`.
import { test } from 'node:test';
import { queryKillRounds } from '../stress/query-kill.ts';
import { aSeed } from '../support/random.ts';

test('acknowledged statements and indexes survive kill -9 under mixed DML, DDL and queries', async (t) => {
  const kills = 2;
  await queryKillRounds((rounds) => rounds >= kills, aSeed(t));
});

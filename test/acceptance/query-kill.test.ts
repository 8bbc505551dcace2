// The bounded form of `test/stress/query-kill.ts`.
import { test } from 'node:test';
import { queryKillRounds } from '../stress/query-kill.ts';
import { aSeed } from '../support/random.ts';

test('acknowledged statements and indexes survive kill -9 under mixed DML, DDL and queries', async (t) => {
  await queryKillRounds((rounds) => rounds >= 3, aSeed(t));
});

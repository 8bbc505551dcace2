import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import type { TransactionStart } from './transaction.ts';
import type { TransactionData } from './transaction-data.ts';
import { expiredMax, Transactions } from './transactions.ts';

const startOf = (id: string): TransactionStart => ({
  id,
  transactionId: id,
  users: [],
  timeoutMs: 1,
  kvTimeoutMs: 1,
  durability: 'none',
  consistency: 'not_bounded',
  recordLocation: null,
  isRecorded: false,
  isImplicit: false,
  memoryBytesMax: 1,
});

test('a limited number of expired transactions is kept, the newest ones', async () => {
  const clock = new ManualClock();
  const lost = { began: () => {}, ended: () => {} };
  const data = {} as TransactionData;
  const transactions = new Transactions({
    clock,
    log: silentLog,
    ending: { data, clock, random: realRandom, lost },
  });
  for (let n = 0; n < expiredMax + 10; n++) {
    transactions.begin(startOf(`t${n}`));
    clock.advance(1);
  }
  await eventually(() => assert.equal(transactions.all().length, expiredMax));
  assert.equal(transactions.find('t9'), undefined);
  assert.equal(transactions.find('t10')?.state, 'expired');
  clock.advance(60_000);
  assert.deepEqual(transactions.all(), []);
  assert.equal(clock.pending, 0);
});

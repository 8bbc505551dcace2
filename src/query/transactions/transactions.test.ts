import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { deferred } from '#base/deferred.ts';
import type { StoreReply } from '#client/bucket-client.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import type { StatementPlace } from '../data/temporary-failures.ts';
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

function transactionsOf(data: Partial<TransactionData>, clock: ManualClock): Transactions {
  const lost = { began: () => {}, ended: () => {} };
  const ending = { data: data as TransactionData, clock, random: realRandom, lost };
  return new Transactions({ clock, log: silentLog, ending });
}

test('other requests get the place of a COMMIT that waits; the COMMIT is answered even if it does not get the place back', async () => {
  const clock = new ManualClock();
  const reply: StoreReply = { status: Status.success, cas: 1n, token: null, failedPartStatus: 0 };
  const written = deferred<StoreReply[]>();
  const transactions = transactionsOf(
    {
      find: () => ({ name: {} }) as Keyspace,
      keyspace: () => ({ name: {} }) as Keyspace,
      storePersisted: () => written.promise,
      store: async () => [reply],
    },
    clock,
  );
  const transaction = transactions.begin({ ...startOf('t'), timeoutMs: 60_000, isRecorded: true });
  let isLent = false;
  const place: StatementPlace = {
    mayLeave: true,
    without: async (waiting) => {
      isLent = true;
      await waiting();
      throw sqlError(1182);
    },
  };
  const committed = transactions.commit(transaction, place);
  clock.advance(199);
  await setImmediate();
  assert.equal(isLent, false);
  clock.advance(1);
  await setImmediate();
  assert.equal(isLent, true);
  written.resolve([reply]);
  await committed;
  assert.equal(transactions.find('t'), undefined);
});

test('a limited number of expired transactions is kept, the newest ones', async () => {
  const clock = new ManualClock();
  const transactions = transactionsOf({}, clock);
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

test('statements of a transaction that an administrator ended say so, and not that it timed out', async () => {
  const transactions = transactionsOf({}, new ManualClock());
  const transaction = transactions.begin({ ...startOf('t'), timeoutMs: 60_000 });
  transactions.end('t');
  await eventually(() => assert.equal(transaction.state, 'expired'));
  assert.throws(() => transaction.checkOpen(), {
    code: 17010,
    message: 'Transaction timeout: the transaction was ended by DELETE FROM system:transactions',
  });
});

test('a COMMIT in a bucket without default collection names the parameter for another collection', async () => {
  const transactions = transactionsOf({ find: () => 'no collection' }, new ManualClock());
  const transaction = transactions.begin({ ...startOf('t'), timeoutMs: 60_000, memoryBytesMax: 1_000 });
  transaction.changes.put({
    keyspace: { name: { namespace: 'default', bucket: 'b', scope: 's', collection: 'c' } } as Keyspace,
    id: 'd',
    kind: 'insert',
    cas: 0n,
    ownCas: 0n,
    stagedByClient: null,
    isUnstaged: false,
    expiration: 'keep',
    bytes: Buffer.from('{}'),
  });
  transaction.changes.acceptStatement();
  await assert.rejects(transactions.commit(transaction, undefined), {
    code: 17007,
    message: /bucket b has no default collection.* atrcollection /,
  });
});

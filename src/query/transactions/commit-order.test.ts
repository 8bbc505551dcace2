// The order in which the writes of a commit reach the disk: the attempt must not disappear from its record before the documents are there, or
// `kill -9` leaves documents staged that no clean-up completes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { Status } from '#wire/status.ts';
import { recordKeyspace, recordLimits } from '../../../test/support/record-reads.ts';
import type { BucketClients } from '../data/bucket-clients.ts';
import { Keyspaces } from '../data/keyspaces.ts';
import { AttemptRecord } from './attempt-record.ts';
import { cleanUp } from './clean-up.ts';
import { Transaction } from './transaction.ts';
import { TransactionData } from './transaction-data.ts';
import { commit } from './transaction-end.ts';

const majority = { ...recordLimits, durability: 'majority' } as const;
const txn = { id: { atmpt: 'attempt' }, atr: { id: 'record', bkt: 'b' }, op: { type: 'insert', crc32: '1' } };

/** Data of a bucket that stores its documents on disk; `sent` gets the kind, key and durability of each write. */
function recordingData(attributes: Readonly<Record<string, unknown>>) {
  const sent: string[] = [];
  const results = ['txn', 'txn.op.stgd', '$document'].map((path) => ({
    status: Status.success,
    value: Buffer.from(JSON.stringify(attributes[path] ?? {})),
  }));
  const client = {
    lookupMany: async (_collection: number, ids: readonly string[]) =>
      ids.map(() =>
        Object.keys(attributes).length === 0 ? Status.keyNotFound : { cas: 1n, isDeleted: true, results },
      ),
    storeMany: async (
      _collection: number,
      requests: readonly StoreRequest[],
      _: unknown,
      replies: unknown[],
    ) => {
      for (const { kind, key, durability } of requests) {
        sent.push(`${kind} ${key.startsWith('_txn') ? 'record' : key}: ${durability}`);
        replies.push({ status: Status.success, cas: 1n, token: null, failedPartStatus: 0 });
      }
    },
  };
  const clients = { clientOf: async () => client } as unknown as BucketClients;
  const keyspaces = new Keyspaces();
  const collections = [{ name: '_default', uid: '0' }];
  const scopes = [{ name: '_default', uid: '0', collections }];
  keyspaces.set([{ name: 'b', uuid: 'b', incarnation: 0, type: 'native', scopes }]);
  return { data: new TransactionData(clients, keyspaces, realClock), sent };
}

test('a commit removes its attempt from the record only when its documents are on disk', async () => {
  const { data, sent } = recordingData({});
  const start = { id: 'attempt', transactionId: 't', users: [], timeoutMs: 60_000, kvTimeoutMs: 1_000 };
  const options = { consistency: 'request_plus', recordLocation: null, memoryBytesMax: 1 << 20 } as const;
  const flags = { durability: 'majority', isRecorded: false, isImplicit: false } as const;
  const transaction = new Transaction({ ...start, ...options, ...flags }, realClock);
  const change = { keyspace: recordKeyspace, id: 'k', bytes: Buffer.from('{}'), cas: 0n, ownCas: 1n };
  const kind = { kind: 'insert', expiration: 0, stagedByClient: null, isUnstaged: true } as const;
  transaction.changes.put({ ...change, ...kind });
  transaction.changes.acceptStatement();
  const lost = { began: () => {}, ended: () => {} };
  await commit(transaction, { data, clock: realClock, random: realRandom, lost });
  assert.deepEqual(sent, [
    'replace record: majority',
    'replace k: majorityAndPersistActive',
    'replace record: majorityAndPersistActive',
    'add k: majorityAndPersistActive',
    'replace record: majority',
  ]);
});

test('a clean-up removes a committed attempt from its record only when its documents are on disk', async () => {
  const { data, sent } = recordingData({ txn, 'txn.op.stgd': { v: 1 }, $document: { value_crc32c: '1' } });
  const record = new AttemptRecord(data, recordKeyspace, 'record', majority);
  const ins = [{ id: 'k', bkt: 'b', scp: '_default', col: '_default' }];
  const options = { data, isDropped: () => false };
  assert.equal(await cleanUp(options, record, 'attempt', { st: 'COMMITTED', d: 'm', ins }), true);
  assert.deepEqual(sent, ['add k: majorityAndPersistActive', 'replace record: majority']);
});

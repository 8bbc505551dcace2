import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { Status } from '#wire/status.ts';
import { recordKeyspace, recordLimits } from '../../../test/support/record-reads.ts';
import { AttemptRecord } from './attempt-record.ts';
import { cleanUp } from './clean-up.ts';
import type { LinkedDocument, TransactionData } from './transaction-data.ts';

test('a clean-up ends only staged changes that name the record of the attempt', async () => {
  const named = { id: 'record', bkt: 'b', scp: '_default', coll: '_default' };
  const { bkt, scp, coll } = named;
  const records = {
    same: named,
    defaults: { id: 'record', bkt },
    otherId: { ...named, id: 'other' },
    otherBucket: { ...named, bkt: 'other' },
    otherScope: { ...named, scp: 'other' },
    otherCollection: { ...named, coll: 'other' },
    none: undefined,
  };
  const ended: string[] = [];
  const data = {
    find: () => recordKeyspace,
    linkedDocuments: async (_keyspace: unknown, ids: readonly (keyof typeof records)[]) =>
      ids.map((id): LinkedDocument => {
        const atr = records[id];
        const txn = { id: { atmpt: 'attempt' }, ...(atr && { atr }) };
        return { cas: 1n, isDeleted: false, txn, staged: Buffer.from('1'), attribute: {} };
      }),
    store: async (_keyspace: unknown, requests: readonly StoreRequest[]) => {
      ended.push(...requests.map(({ key }) => key));
      return requests.map(() => ({ status: Status.success, cas: 1n, failedPartStatus: 0 }));
    },
  } as unknown as TransactionData;
  const rep = Object.keys(records).map((id) => ({ id, bkt, scp, col: coll }));
  const record = new AttemptRecord(data, recordKeyspace, 'record', recordLimits);
  await cleanUp({ data, isDropped: () => false }, record, 'attempt', { st: 'ABORTED', rep });
  assert.deepEqual(ended, ['same', 'defaults', 'record']);
});

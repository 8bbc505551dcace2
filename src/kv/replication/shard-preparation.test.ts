// What is written before a shard is confirmed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShardSpec } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { ShardPreparation } from './shard-preparation.ts';

const inSync = ['a', 'b', 'c', 'd'].map((node) => ({ node, boot: `${node} 1` }));
const spec: ShardSpec = { state: 'active', epoch: 2, replicas: ['d'], inSync };

/** Records what is written of vbucket 7. */
function recorded(majority: number, { high = 5, persisted = 5 } = {}) {
  const highSeqno = new Float64Array(8).fill(high);
  const persistedSeqno = new Float64Array(8).fill(persisted);
  const written: string[] = [];
  const write = (vbs: readonly number[], what: string): Promise<readonly number[]> => {
    if (vbs.length > 0) written.push(what);
    return Promise.resolve(vbs);
  };
  const bucket = {
    progress: { majority },
    isOnDisk: true,
    columns: { highSeqno, persistedSeqno },
    shards: {
      prepare: (vbs: readonly number[], withChanges: boolean) =>
        write(vbs, withChanges ? 'documents' : 'states'),
    },
  } as unknown as Bucket;
  const preparation = new ShardPreparation({
    bucket,
    vbsOf: () => [7],
    begin: () => {},
    prepared: () => {},
  });
  return { preparation, written };
}

test('a confirmation waits for the documents on disk if the in-sync set is small or the shard was handed over', () => {
  const prepared = (majority: number, of: Partial<ShardSpec>): string[] => {
    const { preparation, written } = recorded(majority);
    preparation.prepared([{ kind: 'confirm', shard: 0, epoch: 2 }], [{ ...spec, ...of }]);
    return written;
  };
  assert.deepEqual(prepared(2, {}), ['states']);
  assert.deepEqual(prepared(2, { inSync: inSync.slice(1, 3) }), ['documents']);
  assert.deepEqual(prepared(2, { isHandedOver: true }), ['documents']);
});

test('a confirmation says whether the disk lacks some of the shard', async () => {
  const requested = async (of: { high: number; persisted: number }) => {
    const { preparation } = recorded(2, of);
    const confirm = { kind: 'confirm', shard: 0, epoch: 2 } as const;
    assert.deepEqual(preparation.prepared([confirm], [spec]), [], 'the epoch is not on disk yet');
    await new Promise((resolve) => setImmediate(resolve));
    return preparation.prepared([confirm], [spec]);
  };
  const confirm = { kind: 'confirm', shard: 0, epoch: 2 };
  assert.deepEqual(await requested({ high: 5, persisted: 5 }), [confirm]);
  assert.deepEqual(await requested({ high: 5, persisted: 4 }), [{ ...confirm, isUnwritten: true }]);
});

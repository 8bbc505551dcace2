import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { CopyRollbacks, type CopyRollbacksOptions } from './copy-rollbacks.ts';

/** A rollback of a vbucket whose state cannot be written, so that it begins from nothing; the write ends when `written` resolves. */
function aRollback() {
  const written = deferred<number[]>();
  const dropped: (readonly number[])[] = [];
  const work: Promise<unknown>[] = [];
  const bucket = {
    columns: { isOutOfSync: new Uint8Array(1) },
    writeStates: () => written.promise,
    drop: async (vbs: readonly number[]) => void dropped.push(vbs),
  };
  const drops = {
    isDropping: () => false,
    begin: (_shard: number, _vbs: readonly number[], before: () => Promise<unknown>) =>
      void work.push(before()),
  };
  const rollbacks = new CopyRollbacks({
    uuid: 'u',
    bucket,
    drops,
    peers: { send: () => true },
    epochOf: () => 2,
    actives: new Map(),
    vbsOf: () => [0],
    endIntake: () => {},
    clock: new ManualClock(),
    log: silentLog,
  } as unknown as CopyRollbacksOptions);
  const rows = [{ vb: 0, failover: '', high: 0, purge: 0 }];
  rollbacks.received('a', { kind: 'rollBack', bucket: 'u', shard: 0, epoch: 2, rows }, Buffer.alloc(0));
  const ended = async () => {
    written.resolve([]);
    await Promise.all(work);
  };
  return { rollbacks, dropped, ended };
}

test('a rollback removes nothing once the replication of its bucket has ended, as by a flush', async () => {
  const running = aRollback();
  await running.ended();
  assert.deepEqual(running.dropped, [[0]]);
  const closed = aRollback();
  closed.rollbacks.close();
  await closed.ended();
  assert.deepEqual(closed.dropped, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Consistency } from '#sqlpp/datastore/indexes.ts';
import { SqlError } from '#sqlpp/errors/sql-error.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { IndexProgress, unknownSeqno } from '../index-progress.ts';
import { type Wait, waitFor } from './consistency.ts';

const [oldUuid, newUuid] = [1n, 2n];

/** A vector with a position for vbucket 7. */
const vectorOf = (seqno: number, uuid: bigint, renew?: () => Promise<Consistency>): Consistency => ({
  kind: 'at',
  vector: new Map([[7, { seqno, uuid }]]),
  ...(renew && { renew }),
});

/** A vector with the same position for vbuckets 7 and 8. */
const bothOf = (uuid: bigint, renew?: () => Promise<Consistency>): Consistency => ({
  kind: 'at',
  vector: new Map([7, 8].map((vb) => [vb, { seqno: 3, uuid }])),
  ...(renew && { renew }),
});

/** A wait for an index whose positions are set by `has`. */
class TestWait {
  readonly clock = new ManualClock();
  readonly progress = new IndexProgress();
  readonly stopping = new AbortController();
  readonly listeners = new Set<() => void>();
  isOnline = true;
  isDone = false;

  has(completeSeqno: number, uuid: bigint, vb = 7): void {
    this.progress.setPosition(vb, { completeSeqno, uuid });
    this.progress.publish();
  }

  for(consistency: Consistency, changes: Partial<Wait> = {}): Promise<void> {
    const done = waitFor({
      consistency,
      waitMs: 0,
      signal: this.stopping.signal,
      clock: this.clock,
      isOnline: () => this.isOnline,
      progress: () => this.progress,
      onChange: (listener) => {
        this.listeners.add(listener);
        return { stop: () => this.listeners.delete(listener) };
      },
      ...changes,
    });
    return done.finally(() => {
      this.isDone = true;
    });
  }

  async runTurns(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  }
}

test('seqnos of another history do not end a wait', async () => {
  const wait = new TestWait();
  wait.has(20, oldUuid);
  const done = wait.for(vectorOf(0, newUuid));
  await wait.runTurns();
  assert.equal(wait.isDone, false);
  wait.has(0, newUuid);
  await done;
});

test('a wait renews a vector whose history has ended', async () => {
  const wait = new TestWait();
  wait.has(3, newUuid);
  let renewals = 0;
  const renewed = async () => {
    renewals++;
    return vectorOf(3, newUuid);
  };
  await wait.for(vectorOf(20, oldUuid, renewed));
  assert.equal(renewals, 1);
});

test('a renewed vector counts only for vbuckets that the index has not reached before', async () => {
  const wait = new TestWait();
  wait.has(3, oldUuid);
  const done = wait.for(bothOf(oldUuid, async () => bothOf(newUuid)));
  await wait.runTurns();
  assert.equal(wait.isDone, false);
  // The position is unknown while the vbucket moves.
  wait.has(unknownSeqno, newUuid);
  wait.has(3, newUuid, 8);
  await done;
});

test('an index that was rolled back must reach the vbucket again', async () => {
  const wait = new TestWait();
  wait.has(3, oldUuid);
  const done = wait.for(bothOf(oldUuid, async () => bothOf(newUuid)));
  await wait.runTurns();
  wait.has(2, newUuid);
  wait.has(3, newUuid, 8);
  await wait.runTurns();
  assert.equal(wait.isDone, false);
  wait.has(3, newUuid);
  await done;
});

test('an index that was offline meanwhile is compared with the whole vector', async () => {
  const wait = new TestWait();
  wait.has(3, oldUuid);
  const done = wait.for(bothOf(oldUuid));
  await wait.runTurns();
  wait.isOnline = false;
  wait.has(0, oldUuid);
  await wait.runTurns();
  wait.isOnline = true;
  wait.has(3, oldUuid, 8);
  await wait.runTurns();
  assert.equal(wait.isDone, false);
  wait.has(3, oldUuid);
  await done;
});

test('a wait refuses a vector of the request at once if its history has ended', async () => {
  const wait = new TestWait();
  wait.has(3, newUuid);
  const historyEnded = new Error('rollback');
  await assert.rejects(
    () => wait.for(vectorOf(20, oldUuid, () => Promise.reject(historyEnded))),
    historyEnded,
  );
});

test('a wait ends when the state changes after the positions', async () => {
  const wait = new TestWait();
  wait.isOnline = false;
  wait.has(5, newUuid);
  const done = wait.for(vectorOf(5, newUuid), { progress: () => silent(wait.progress) });
  await wait.runTurns();
  assert.equal(wait.isDone, false);
  wait.isOnline = true;
  for (const listener of wait.listeners) listener();
  await done;
  assert.equal(wait.listeners.size, 0);
});

test('every wait ends: at its own timeout, at the longest time for any wait, or with the request', async (t) => {
  t.plan(3);
  for (const waitMs of [1_000, 0]) {
    const wait = new TestWait();
    wait.has(1, newUuid);
    const done = wait.for(vectorOf(2, newUuid), { waitMs });
    wait.clock.advance(waitMs || 120_000);
    wait.progress.publish();
    await t.assert.rejects(done, (error) => error instanceof SqlError && error.code === 12015);
  }
  const wait = new TestWait();
  const done = wait.for(vectorOf(2, newUuid));
  wait.stopping.abort(new Error('cancelled'));
  await t.assert.rejects(done, /cancelled/);
});

/** A progress without publications, so that only a change of the state ends a wait. */
function silent(progress: IndexProgress): IndexProgress {
  return Object.create(progress, {
    changed: { value: () => new Promise<void>(() => {}) },
    position: { value: (vb: number) => progress.position(vb) },
    commits: { value: 0 },
  }) as IndexProgress;
}

// What is recorded of a target that changes the actives of its vbuckets while the link to it stays open.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReachedPosition } from '#client/reached-position.ts';
import { implicitMapping } from '../mapping/mapping.contract.ts';
import { VbProgress } from '../source/vb-progress.ts';
import type { TargetPosition } from '../target/target-link.ts';
import { Checkpoints } from './checkpoints.ts';
import { PositionRecorder } from './position-recorder.ts';

const first = { uuid: 1n, seqno: 0 };
const aHistory = (high: number): TargetPosition => ({ log: [first], high });
/** The history of a new active, which had the changes of the first one up to this seqno. */
const aSuccessor = (seqno: number): TargetPosition => ({ log: [{ uuid: 2n, seqno }, first], high: seqno });
const sourceAt = (seqno: number) => ({ uuid: 9n, seqno, snapshotStart: seqno, snapshotEnd: seqno });

/** A recorder of these vbuckets, whose source and target are at seqno 4. */
async function aRecorder(vbuckets: readonly number[]) {
  const checkpoints = new Checkpoints({
    replication: 'r',
    sourceBucketUuid: 's',
    filterEpochs: [''],
    mappings: { mapping: implicitMapping, formerMappings: [] },
    store: { load: async () => [], save: async () => {} },
  });
  await checkpoints.load('t', vbuckets);
  const positions = new Map(vbuckets.map((vb) => [vb, aHistory(4)]));
  const acknowledged = new Map<number, ReachedPosition>();
  const link = {
    positions: async () => new Map(positions),
    acknowledged: (vb: number) => acknowledged.get(vb),
  };
  const recorder = new PositionRecorder({ checkpoints, link, vbuckets });
  await recorder.discardLostCheckpoints();
  const progress = vbuckets.map(() => new VbProgress());
  for (const vb of vbuckets) progress[vb]?.reset(sourceAt(4));
  recorder.follow(progress);
  await recorder.record();
  const recorded = (vb: number) => [
    checkpoints.get(vb)?.source.seqno,
    checkpoints.get(vb)?.target.uuid,
    checkpoints.get(vb)?.target.seqno,
  ];
  assert.deepEqual(recorded(0), [4, 1n, 4]);
  return { recorder, progress, positions, acknowledged, recorded };
}

test('a position is not recorded if the new active of the vbucket lacks a write that the former one acknowledged', async () => {
  const { recorder, progress, positions, acknowledged, recorded } = await aRecorder([0]);
  progress[0]?.reset(sourceAt(7));
  acknowledged.set(0, { uuid: 1n, seqno: 7 });
  positions.set(0, aSuccessor(6));
  await assert.rejects(recorder.record(), /the target lost documents/);
  assert.deepEqual(recorded(0), [4, 1n, 4]);
  positions.set(0, aSuccessor(7));
  await recorder.record();
  assert.deepEqual(recorded(0), [7, 2n, 7]);
});

test('what a backfill sent is recorded once every vbucket has an active that has it', async () => {
  const { recorder, positions, acknowledged, recorded } = await aRecorder([0, 1]);
  for (const vb of [0, 1]) acknowledged.set(vb, { uuid: 1n, seqno: 7 });
  positions.set(0, aHistory(7));
  positions.delete(1);
  let isRecorded = false;
  const backfill = recorder.recordBackfill().then(() => {
    isRecorded = true;
  });
  await recorder.record();
  await recorder.record();
  assert.deepEqual([recorded(0), recorded(1), isRecorded], [[4, 1n, 7], [4, 1n, 4], false]);
  positions.set(1, aSuccessor(6));
  await assert.rejects(recorder.record(), /the target lost documents/);
  assert.equal(isRecorded, false);
  positions.set(1, aSuccessor(7));
  await recorder.record();
  await backfill;
  assert.deepEqual(recorded(1), [4, 2n, 7]);
});

test('a vbucket that lost all changes at the source has no checkpoint, and delays no backfill', async () => {
  const { recorder, progress, recorded } = await aRecorder([0]);
  progress[0]?.reset(sourceAt(0));
  await recorder.recordBackfill();
  assert.deepEqual(recorded(0), [undefined, undefined, undefined]);
});

// Indexes of a group whose positions differ, as after `kill -9`: the stream begins at the lowest position, and an index with a higher one may
// have changes that the data service has lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '#client/change.ts';
import { nextTurn } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { compileDefinition } from '../entries/compile-definition.ts';
import type { IndexFile } from '../store/index-store.ts';
import { FollowedIndex } from './followed-index.ts';
import { IndexGroup } from './index-group.ts';

const vbuckets = [3, 5];

/** An index that has the changes of its vbuckets up to this seqno; `removed` gets the vbuckets of each removal of rows. */
function anIndexAt(seqno: number, removed: number[][] = []): FollowedIndex {
  const position = { uuid: 1n, seqno, snapshotStart: seqno, snapshotEnd: seqno, completeSeqno: seqno };
  const file: Partial<IndexFile> = {
    rows: 0,
    isBuilt: true,
    stagedBytes: 0,
    positions: () => vbuckets.map((vb) => ({ vb, ...position })),
    commit: () => {},
    markBuilt: () => {},
    remove: (some) => void removed.push([...(some ?? [])]),
  };
  const definition = aDefinition(['`a`']);
  const compiled = compileDefinition(definition);
  return new FollowedIndex({ definition, compiled, file: file as IndexFile, stageBytesMax: 1 });
}

function aGroup(indexes: readonly FollowedIndex[], clock: ManualClock) {
  let broken = 0;
  const group = new IndexGroup({
    address: { host: '127.0.0.1', port: 1, timeoutMs: 1 },
    account: { username: 'a', password: 'b' },
    bucket: 'b',
    routes: null,
    name: 'test',
    indexes,
    clock,
    log: silentLog,
    changed: () => {},
    broken: () => void broken++,
  });
  return { group, broken: () => broken };
}

const failoverLog = [
  { uuid: 2n, seqno: 50 },
  { uuid: 1n, seqno: 0 },
];

function aChange(vb: number, seqno: number, { collectionId }: FollowedIndex): Change {
  const document = { key: 'k', keyBytes: Buffer.from('k'), isJson: true, body: Buffer.from('{"a":1}') };
  return { kind: 'mutation', vb, seqno, collectionId, ...document } as unknown as Change;
}

test('an index whose rows are removed gets no changes until a new group begins its stream at the position of the index', async () => {
  const clock = new ManualClock();
  const [behind, ahead] = [anIndexAt(30), anIndexAt(100)];
  const { group, broken } = aGroup([behind, ahead], clock);
  group.opened(3, failoverLog);
  group.snapshot(3, 30, 120);
  group.change(aChange(3, 60, ahead));
  group.advanced(3, 120);
  await nextTurn(clock);
  await nextTurn(clock);
  assert.equal(broken(), 1);
  assert.equal(ahead.seqno(3), 0);
  assert.equal(aGroup([behind, ahead], clock).group.positionOf(3).seqno, 0);
});

test('an index removes the rows of all vbuckets with another history in one pass, and another index keeps its rows', async () => {
  const [removed, kept]: [number[][], number[][]] = [[], []];
  const [behind, ahead, further] = [anIndexAt(30, kept), anIndexAt(100, removed), anIndexAt(110, removed)];
  const clock = new ManualClock();
  const { group } = aGroup([behind, ahead, further], clock);
  for (const vb of vbuckets) group.opened(vb, failoverLog);
  await nextTurn(clock);
  await nextTurn(clock);
  assert.deepEqual([removed, kept], [[vbuckets, vbuckets], []]);
  assert.deepEqual([behind.seqno(3), ahead.seqno(3), further.seqno(5)], [30, 0, 0]);
});

test('an index whose stream was open before gets no changes of a stream with another history that it was not told of', () => {
  const [behind, ahead] = [anIndexAt(30), anIndexAt(100)];
  for (const index of [behind, ahead]) index.opened(3, 1n);
  const { group } = aGroup([behind, ahead], new ManualClock());
  group.opened(3, failoverLog);
  group.snapshot(3, 30, 120);
  group.change(aChange(3, 60, behind));
  group.advanced(3, 120);
  assert.deepEqual([behind.seqno(3), behind.isWithin(3, failoverLog)], [30, true]);
});

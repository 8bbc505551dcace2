import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasLost, noteWritten, type WrittenPositions } from './written-positions.ts';

const positions: WrittenPositions = {};
for (const [uuid, seqno] of [
  [1n, 7],
  [2n, 8],
  [2n, 10],
  [2n, 9],
] as const)
  noteWritten(positions, { token: { vb: 5, uuid, seqno } });
noteWritten(positions, { token: null });

test('remembers the last write in each history of each vbucket', () => {
  assert.deepEqual(positions, { 5: { 1: 7, 2: 10 } });
});

for (const [title, histories, isLost] of [
  [
    'still has both histories',
    [
      ['2', 8],
      ['1', 7],
    ],
    false,
  ],
  [
    'moved after the last write',
    [
      ['3', 10],
      ['2', 8],
      ['1', 7],
    ],
    false,
  ],
  [
    'moved twice',
    [
      ['4', 30],
      ['3', 12],
      ['2', 8],
      ['1', 7],
    ],
    false,
  ],
  [
    'lost the last write',
    [
      ['3', 9],
      ['2', 8],
      ['1', 7],
    ],
    true,
  ],
  [
    'lost an earlier write',
    [
      ['2', 6],
      ['1', 1],
    ],
    true,
  ],
  ['has other histories', [['3', 10]], true],
  ['is not served', undefined, true],
] as const)
  test(`${isLost ? 'finds' : 'finds no'} loss where the vbucket ${title}`, () => {
    assert.equal(
      hasLost(positions, (vb) => (vb === 5 ? histories : undefined)),
      isLost,
    );
  });

// How far a copy has the history of its active.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FailoverEntry } from '../data/documents.ts';
import { branchOf, decodeLog, isContinued } from './branch.ts';

/** Entries, newest first, as `[uuid, seqno]`. */
type Log = readonly (readonly [number, number])[];
interface Copy {
  log: Log;
  high: number;
  snapStart?: number;
  snapEnd?: number;
}

const entriesOf = (log: Log): FailoverEntry[] => log.map(([uuidLo, seqno]) => ({ uuidHi: 9, uuidLo, seqno }));

function encoded(log: Log): string {
  const bytes = Buffer.alloc(log.length * 16);
  for (const [index, [uuid, seqno]] of log.entries()) {
    bytes.writeUInt32BE(9, index * 16);
    bytes.writeUInt32BE(uuid, index * 16 + 4);
    bytes.writeUInt32BE(Math.floor(seqno / 2 ** 32), index * 16 + 8);
    bytes.writeUInt32BE(seqno % 2 ** 32, index * 16 + 12);
  }
  return bytes.toString('base64');
}

const high33 = 2 ** 33;
/** A copy, its active, and the seqno to which the copy is rolled back; 'continued' if it is not rolled back. */
const cases: readonly (readonly [
  copy: Copy,
  active: { log: Log; high: number },
  branch: number | 'continued',
])[] = [
  [{ log: [], high: 0 }, { log: [[1, 0]], high: 9 }, 'continued'],
  [{ log: [[1, 0]], high: 5 }, { log: [[1, 0]], high: 9 }, 'continued'],
  [{ log: [[1, 0]], high: 9 }, { log: [[1, 0]], high: 9 }, 'continued'],
  [{ log: [[1, 0]], high: 10 }, { log: [[1, 0]], high: 9 }, 9],
  [
    { log: [[1, 0]], high: 7 },
    {
      log: [
        [2, 7],
        [1, 0],
      ],
      high: 9,
    },
    'continued',
  ],
  [
    { log: [[1, 0]], high: 8 },
    {
      log: [
        [2, 7],
        [1, 0],
      ],
      high: 9,
    },
    7,
  ],
  [
    { log: [[1, 0]], high: high33 + 8 },
    {
      log: [
        [2, high33 + 7],
        [1, 0],
      ],
      high: high33 + 9,
    },
    high33 + 7,
  ],
  [
    {
      log: [
        [3, 5],
        [1, 0],
      ],
      high: 8,
    },
    {
      log: [
        [2, 7],
        [1, 0],
      ],
      high: 9,
    },
    5,
  ],
  [
    {
      log: [
        [3, 6],
        [1, 0],
      ],
      high: 8,
    },
    {
      log: [
        [2, 4],
        [1, 0],
      ],
      high: 9,
    },
    4,
  ],
  [
    {
      log: [
        [3, 6],
        [1, 0],
      ],
      high: 4,
    },
    {
      log: [
        [2, 7],
        [1, 0],
      ],
      high: 9,
    },
    'continued',
  ],
  // The copy was active in the meantime, and changed nothing.
  [
    {
      log: [
        [4, 7],
        [3, 7],
        [1, 0],
      ],
      high: 7,
    },
    {
      log: [
        [2, 7],
        [1, 0],
      ],
      high: 9,
    },
    'continued',
  ],
  [
    { log: [[3, 6]], high: 8 },
    {
      log: [
        [2, 7],
        [1, 0],
      ],
      high: 9,
    },
    0,
  ],
  [{ log: [], high: 8 }, { log: [[1, 0]], high: 9 }, 0],
  // Inside of a snapshot whose end the active has.
  [
    { log: [[1, 0]], high: 4, snapStart: 3, snapEnd: 6 },
    {
      log: [
        [2, 7],
        [1, 0],
      ],
      high: 9,
    },
    'continued',
  ],
  // Inside of a snapshot: the copy may lack versions that later ones of the snapshot replaced.
  [
    { log: [[1, 0]], high: 4, snapStart: 3, snapEnd: 8 },
    {
      log: [
        [2, 7],
        [1, 0],
      ],
      high: 9,
    },
    2,
  ],
  [
    { log: [[1, 0]], high: 4, snapStart: 1, snapEnd: 8 },
    {
      log: [
        [2, 7],
        [1, 0],
      ],
      high: 9,
    },
    0,
  ],
  [
    { log: [[1, 0]], high: 0, snapStart: 1, snapEnd: 8 },
    {
      log: [
        [2, 7],
        [1, 0],
      ],
      high: 9,
    },
    0,
  ],
  [
    {
      log: [
        [3, 6],
        [1, 0],
      ],
      high: 7,
      snapStart: 7,
      snapEnd: 8,
    },
    {
      log: [
        [2, 9],
        [1, 0],
      ],
      high: 9,
    },
    6,
  ],
];

test('a copy is continued, or rolled back to the last seqno at which its active had the same', () => {
  for (const [{ log, high, snapEnd = high, snapStart = high }, active, branch] of cases) {
    const text = JSON.stringify({ log, high, snapStart, snapEnd, active });
    const own = { log: entriesOf(active.log), high: active.high };
    const copied = decodeLog(encoded(log));
    assert.deepEqual(copied, entriesOf(log));
    assert.equal(isContinued({ log: copied, high, snapEnd }, own), branch === 'continued', text);
    const found = branchOf({ log: entriesOf(log), high, snapStart, snapEnd }, own);
    if (branch !== 'continued') assert.equal(found, branch, text);
  }
});

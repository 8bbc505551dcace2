import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type History, type Read, violations, type Write } from './index-history.ts';

const write = (value: number, startMs: number, endMs: number, changes: Partial<Write> = {}): Write => ({
  key: 'k',
  value,
  startMs,
  endMs,
  isAcknowledged: true,
  isDurable: false,
  ...changes,
});
const read = (value: number | null, startMs: number, endMs: number, changes: Partial<Read> = {}): Read => ({
  rows: value === null ? [] : [['k', value]],
  startMs,
  endMs,
  ...changes,
});
const history = (changes: Partial<History>): History => ({
  writes: [],
  reads: [],
  failedReads: [],
  resets: [],
  crashes: [],
  disturbances: [],
  ...changes,
});
const at = (startMs: number, endMs: number) => ({ startMs, endMs });

const [first, second] = [write(1, 0, 10), write(2, 20, 30)];
const refused: [title: string, RegExp, Partial<History>][] = [
  ['a read misses a write', /no value for k, less than 1/, { writes: [first], reads: [read(null, 11, 12)] }],
  [
    'a read has an older value',
    /value 1 for k, less than 2/,
    { writes: [first, second], reads: [read(1, 31, 32)] },
  ],
  [
    'a read misses the write that it names',
    /less than 1/,
    { writes: [first, second], reads: [read(null, 31, 32, { after: [first] })] },
  ],
  [
    'a read has a row from before a flush',
    /value 1 for k, which was removed before/,
    { writes: [first], resets: [at(12, 15)], reads: [read(1, 16, 17)] },
  ],
  [
    'a read misses a write after a flush',
    /less than 2/,
    { writes: [first, second], resets: [at(12, 15)], reads: [read(null, 31, 32)] },
  ],
  [
    'a durable write is lost by a crash',
    /less than 1/,
    { writes: [write(1, 0, 10, { isDurable: true })], crashes: [at(12, 15)], reads: [read(null, 16, 17)] },
  ],
  [
    'a read has a value before it was written',
    /not written by then/,
    { writes: [second], reads: [read(2, 5, 6)] },
  ],
  [
    'a read has a value that no client wrote',
    /not written by then/,
    { writes: [first], reads: [read(7, 11, 12)] },
  ],
  ['a read has a key that no client wrote', /never written/, { reads: [read(1, 11, 12)] }],
  [
    'a read has a key twice',
    /a key twice/,
    {
      writes: [first],
      reads: [
        read(1, 11, 12, {
          rows: [
            ['k', 1],
            ['k', 1],
          ],
        }),
      ],
    },
  ],
  [
    'a read fails although nothing disturbs the node',
    /failed: no/,
    { failedReads: [{ ...at(1, 2), reason: 'no' }] },
  ],
  [
    'a read hangs, also while the node is disturbed',
    /failed: late/,
    { disturbances: [at(1, 2)], failedReads: [{ ...at(1, 150_000), reason: 'late' }] },
  ],
];

for (const [title, expected, changes] of refused)
  test(`reports that ${title}`, () => {
    const found = violations(history(changes));
    assert.equal(found.length, 1, found.join('\n'));
    assert.match(found[0] ?? '', expected);
  });

const allowed: [title: string, Partial<History>][] = [
  ['has what was written', { writes: [first, second], reads: [read(2, 31, 32)] }],
  [
    'has the value of an unfinished write, or not',
    { writes: [second], reads: [read(2, 25, 26), read(null, 25, 26)] },
  ],
  [
    'has a newer value than that of the write that it names',
    { writes: [first, second], reads: [read(2, 31, 32, { after: [first] })] },
  ],
  [
    'has the value of a failed write, or not',
    { writes: [write(1, 0, 10, { isAcknowledged: false })], reads: [read(1, 11, 12), read(null, 11, 12)] },
  ],
  [
    'has an older value, or none, during a flush',
    { writes: [first], resets: [at(12, 20)], reads: [read(1, 13, 14), read(null, 13, 14)] },
  ],
  [
    'has the value of a write during a flush, or not',
    { writes: [second], resets: [at(25, 40)], reads: [read(2, 41, 42), read(null, 41, 42)] },
  ],
  [
    'lacks a write that was not durable, after a crash',
    { writes: [first], crashes: [at(12, 15)], reads: [read(null, 16, 17)] },
  ],
  [
    'fails while the index is dropped',
    { disturbances: [at(1, 5)], failedReads: [{ ...at(4, 6), reason: 'no index' }] },
  ],
];

for (const [title, changes] of allowed)
  test(`accepts a read that ${title}`, () => assert.deepEqual(violations(history(changes)), []));

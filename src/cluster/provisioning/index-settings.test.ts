import { test } from 'node:test';
import {
  booleanValues,
  checkSettings,
  managerTarget,
  type Parameter,
  processTarget,
  refusals,
} from '../../../test/support/settings-suite.ts';

const outOfRange = (min: number, max: number) => `The value must be in range from ${min} to ${max}`;
const notInteger = 'The value must be an integer';
const notBoolean = 'The value must be one of the following: [true,false]';
const intMax = 2 ** 31 - 1;
const integerIn = (min: number, max: number) =>
  ({
    good: [
      [`${min}`, min],
      [`${max}`, max],
    ],
    bad: [
      [`${min - 1}`, outOfRange(min, max)],
      [`${max + 1}`, outOfRange(min, max)],
      ['1.0', notInteger],
      ['', notInteger],
    ],
  }) as const;

const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'verbose', 'timing', 'debug', 'trace'];
/** Word lists whose order here differs from that of the declaration, which the error text follows. */
const declaredOrders: Record<string, string> = {
  'memory_optimized,plasma,': 'plasma,memory_optimized,',
  ',forestdb': 'forestdb,',
};
const word = (name: string, words: readonly string[], wrong: string): Parameter => {
  const listed = declaredOrders[words.join()] ?? words.join();
  const text = `The value must be one of the following: [${listed}]`;
  return {
    name,
    good: words.map((value) => [value, value] as const),
    bad: [wrong, 'x', ' '].map((value) => [value, text] as const),
    missing: { reads: words.at(-1) },
    with: { numReplica: '1' },
  };
};

test('the node keeps the settings of the index service over restarts, and refuses what is out of range', async (t) => {
  await using target = await managerTarget();
  const untouched = { numReplica: '16' };
  await checkSettings(t, target, {
    write: '/settings/indexes',
    read: '/settings/indexes',
    refusal: refusals.fields,
    parameters: [
      {
        name: 'redistributeIndexes',
        ...booleanValues(notBoolean),
        missing: { reads: false },
        with: untouched,
      },
      {
        name: 'enablePageBloomFilter',
        ...booleanValues(notBoolean),
        missing: { reads: false },
        with: untouched,
      },
      { name: 'numReplica', ...integerIn(0, 16), missing: { reads: 16 }, with: { logLevel: 'info' } },
      { name: 'indexerThreads', ...integerIn(0, 1024), missing: { reads: 1024 }, with: untouched },
      {
        name: 'memorySnapshotInterval',
        ...integerIn(1, intMax),
        missing: { reads: intMax },
        with: untouched,
      },
      {
        name: 'stableSnapshotInterval',
        ...integerIn(1, intMax),
        missing: { reads: intMax },
        with: untouched,
      },
      { name: 'maxRollbackPoints', ...integerIn(1, intMax), missing: { reads: intMax }, with: untouched },
      word('logLevel', logLevels, 'Info'),
      word('storageMode', ['memory_optimized', 'plasma', ''], 'forestdb'),
    ],
  });
});

test('the node stores the storage mode of the community edition', async (t) => {
  await using target = await managerTarget({ edition: 'community' });
  await checkSettings(t, target, {
    write: '/settings/indexes',
    read: '/settings/indexes',
    refusal: refusals.fields,
    parameters: [word('storageMode', ['', 'forestdb'], 'plasma')],
  });
});

test('the node keeps the settings of a node process that was killed', async (t) => {
  await using target = await processTarget();
  await checkSettings(t, target, {
    write: '/settings/indexes',
    read: '/settings/indexes',
    refusal: refusals.fields,
    parameters: [
      { name: 'numReplica', ...integerIn(0, 16), missing: { reads: 16 }, with: { logLevel: 'info' } },
    ],
  });
});

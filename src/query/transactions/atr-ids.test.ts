import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atrIdOf } from './atr-ids.ts';

test('record keys equal those of client libraries', () => {
  // From the table of the public client libraries.
  assert.deepEqual([0, 1, 2, 9, 51, 123].map(atrIdOf), [
    '_txn:atr-0-#14',
    '_txn:atr-1-#10b6',
    '_txn:atr-2-#cc8',
    '_txn:atr-9-#0',
    '_txn:atr-51-#10b',
    '_txn:atr-123-#22f',
  ]);
});

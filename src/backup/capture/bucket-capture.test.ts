import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { vbucketCount } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import { startService } from '../../../test/support/data-service.ts';
import { addressOf, adminAccount } from '../../../test/support/wire-clients.ts';
import type { DataWriter } from '../archive/data-file.adapter.ts';
import { captureBucket } from './bucket-capture.ts';

test('a captured bucket leaves no listener on the signal of the task, which may have many buckets', async () => {
  await using service = await startService();
  const { signal } = new AbortController();
  const options = { address: addressOf(service.port), account: adminAccount, bucket: 'b' };
  const captured = await captureBucket({
    bucket: 'b',
    routes: [{ options, vbuckets: Array.from({ length: vbucketCount }, (_, vb) => vb) }],
    writer: { append: () => assert.fail('an empty bucket has no blocks') } as unknown as DataWriter,
    previous: null,
    completed: new Map(),
    connectionName: 'capture',
    clock: realClock,
    signal,
    progress: () => {},
  });
  assert.equal(captured.length, vbucketCount);
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
});

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { vbucketCount } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import { startService } from '../../../test/support/data-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { addressOf, adminAccount } from '../../../test/support/wire-clients.ts';
import type { DataWriter } from '../archive/data-file.adapter.ts';
import { captureBucket } from './bucket-capture.ts';

const allVbuckets = Array.from({ length: vbucketCount }, (_, vb) => vb);

/** Captures an empty bucket from nodes with these data ports, the first of which has its vbuckets. */
function capture(ports: readonly number[], signal: AbortSignal) {
  return captureBucket({
    bucket: 'b',
    routes: ports.map((port, index) => ({
      options: { address: addressOf(port), account: adminAccount, bucket: 'b' },
      vbuckets: index === 0 ? allVbuckets : [],
    })),
    writer: { append: () => assert.fail('an empty bucket has no blocks') } as unknown as DataWriter,
    previous: null,
    completed: new Map(),
    connectionName: 'capture',
    clock: realClock,
    signal,
    progress: () => {},
  });
}

test('a captured bucket leaves no listener on the signal of the task, which may have many buckets', async () => {
  await using service = await startService();
  const { signal } = new AbortController();
  const captured = await capture([service.port], signal);
  assert.equal(captured.length, vbucketCount);
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
});

test('if one node of a cluster cannot be reached, the connections to the others are closed', async (t) => {
  await using service = await startService();
  const { signal } = new AbortController();
  // Ends its connections once the other node is connected.
  const failing = createServer((socket) => {
    socket.on('error', () => {});
    const connected = eventually(() => assert.equal(getEventListeners(signal, 'abort').length, 1));
    void connected.finally(() => socket.destroy());
  });
  t.after(() => failing.close());
  await new Promise<void>((resolve) => failing.listen(0, '127.0.0.1', resolve));
  await assert.rejects(capture([service.port, (failing.address() as AddressInfo).port], signal));
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
});

test('a capture that is cancelled while it opens its connections ends with the reason', async () => {
  await using service = await startService();
  const cancelled = new AbortController();
  const captured = capture([service.port], cancelled.signal);
  cancelled.abort(new Error('the task was cancelled'));
  await assert.rejects(captured, /the task was cancelled/);
  assert.deepEqual(getEventListeners(cancelled.signal, 'abort'), []);
});

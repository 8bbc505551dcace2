import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { ClusterBucketClient } from '#client/cluster-bucket-client.ts';
import { vbucketCount } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import { type DataNode, DataNodes } from '../../../test/support/data-nodes.ts';
import { startService } from '../../../test/support/data-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Relay } from '../../../test/support/relay.ts';
import { storing } from '../../../test/support/storing.ts';
import { addressOf, adminAccount } from '../../../test/support/wire-clients.ts';
import type { DataWriter } from '../archive/data-file.adapter.ts';
import { captureBucket } from './bucket-capture.ts';

const allVbuckets = Array.from({ length: vbucketCount }, (_, vb) => vb);

const common = {
  bucket: 'b',
  checkUnchanged: async () => {},
  previous: null,
  completed: new Map(),
  connectionName: 'capture',
  clock: realClock,
};

/** Captures an empty bucket from nodes with these data ports, the first of which has its vbuckets. */
function capture(ports: readonly number[], signal: AbortSignal) {
  return captureBucket({
    ...common,
    routes: async () =>
      ports.map((port, index) => ({
        options: { address: addressOf(port), account: adminAccount, bucket: 'b' },
        vbuckets: index === 0 ? allVbuckets : [],
      })),
    writer: { append: () => assert.fail('an empty bucket has no blocks') } as unknown as DataWriter,
    signal,
    progress: () => {},
  });
}

/** The documents of each vbucket, and the blocks that an earlier attempt left without an end, are in one list. */
class BlockList {
  readonly frames: number[] = [];
  append({ frames }: { frames: number }): number {
    return this.frames.push(frames);
  }
}

test('a capture follows vbuckets that move to another node while they are captured', async () => {
  await using nodes = await DataNodes.start();
  const client = await ClusterBucketClient.openAll({
    ...nodes.accessOf(),
    routes: nodes.routes(),
    clock: realClock,
  });
  const documents = 3_000;
  const writes = Array.from({ length: documents }, (_, n) => storing(`k${n}`));
  await client.storeMany(0, writes);
  client.close();
  const [first, second] = nodes.nodes as [DataNode, DataNode];
  await using relay = await Relay.open(first.port);
  // Shard 0 and 2 are at the first node; the relay is between it and the capture, and hangs until they have moved.
  const isAtFirst = (vb: number) => nodes.stateOf(first).actives['b']?.[vb % 64] === first.id;
  const routesOf = () =>
    [relay.port, second.port].map((port, index) => ({
      options: { address: addressOf(port), account: adminAccount, bucket: 'b' },
      vbuckets: allVbuckets.filter((vb) => isAtFirst(vb) === (index === 0)),
    }));
  let moving: Promise<void> | null = null;
  let routesRead = 0;
  let counted = 0;
  const captured = await captureBucket({
    ...common,
    routes: async () => {
      routesRead++;
      await moving;
      return routesOf();
    },
    writer: new BlockList() as unknown as DataWriter,
    signal: new AbortController().signal,
    progress: (more) => {
      counted += more;
      if (moving !== null) return;
      relay.hang();
      moving = nodes
        .handOver(0, second.id)
        .then(() => nodes.handOver(2, second.id))
        .then(() => relay.resume());
    },
  });
  assert.ok(routesRead > 1);
  assert.equal(captured.length, vbucketCount);
  assert.equal(
    captured.reduce((sum, vbucket) => sum + vbucket.documents, 0),
    documents,
  );
  assert.ok(counted >= documents);
});

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

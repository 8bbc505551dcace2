// Streams of clients while copies on other nodes have not received everything: a client sees nothing that a failover could undo.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { aSeed } from '../../../test/support/random.ts';
import { streamOptions } from '../../../test/support/stream-options.ts';
import { CutBits, type CutItem } from '../data/cut.ts';
import { backfillPageBytes } from '../data/disk-engine.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import type { Address, Marker, MessageWriter } from './message-writer.ts';
import { Stream, type StreamHost } from './stream.ts';

const vb = 0;
const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** An active vbucket with one copy, and a client's stream of it. */
async function replicated(type: 'native' | 'ephemeral', isFull = () => false) {
  const storage = { disk: new MemoryDisk().engine(), files };
  const b = await new BucketUnderTest(type === 'native' ? { storage } : {}).start();
  const { progress, changes: source } = b.bucket;
  progress.setMembers(vb, { others: ['copy'], size: 2, isFrozen: false });
  // `onWhole` is called when the client has all of a snapshot.
  const client = { copy: new Map<string, string>(), position: 0, snapshotEnd: 0, onWhole: () => {} };
  const writer: Partial<MessageWriter> = {
    marker: (_: Address, { end }: Marker) => {
      client.snapshotEnd = end;
    },
    item: (_: Address, item: CutItem) => {
      assert.ok(item.seqno <= progress.committedSeqno(vb), `the copy does not have ${item.seqno}`);
      client.position = item.seqno;
      const key = item.buffer.toString('utf8', item.keyStart, item.keyEnd);
      if ((item.bits & CutBits.deleted) !== 0) client.copy.delete(key);
      else client.copy.set(key, item.buffer.toString('utf8', item.valueStart, item.valueEnd));
      if (item.seqno === client.snapshotEnd) client.onWhole();
    },
  };
  const host: Partial<StreamHost> = {
    writer: writer as MessageWriter,
    markerVersion: 1,
    reportsSeqnos: false,
    sent: () => !isFull(),
    ready: () => {},
    takePageBytes: () => backfillPageBytes,
    pages: { hold: (taken) => taken, count: () => {} },
    backfillDone: () => {},
    nowMs: () => b.clock.monotonicMs(),
  };
  const stream = new Stream(host as StreamHost, streamOptions(vb, { source }));
  stream.start();
  return {
    b,
    client,
    stream,
    high: () => source.highSeqno(vb),
    received: (seqno: number) => progress.copied(vb, 'copy', seqno, 0),
    read: () => {
      while (stream.step()) {
        // Each step sends a batch.
      }
    },
  };
}

test('streams of a vbucket that has become a copy send all changes that it has', async () => {
  const { b, high } = await replicated('ephemeral');
  assert.equal(b.store('k'), Status.success);
  const { changes } = b.bucket;
  assert.ok(changes.safeSeqno(vb) < high());
  await b.bucket.followShards(
    Array.from({ length: 64 }, () => ({ state: 'replica', epoch: 1, replicas: [] }) as const),
  );
  assert.equal(changes.safeSeqno(vb), high());
});

for (const type of ['native', 'ephemeral'] as const) {
  test(`${type}: a change is sent when every copy has received it`, async () => {
    const { b, client, received, read, high } = await replicated(type);
    for (const key of ['a', 'b', 'c']) assert.equal(b.store(key), Status.success);
    const first = high() - 2;
    read();
    assert.equal(client.position, 0);
    received(first);
    read();
    assert.equal(client.position, first);
    b.bucket.progress.setMembers(vb, null);
    read();
    assert.equal(client.position, high(), 'not all was sent once the copy had left the in-sync set');
  });

  test(`${type}: a key that is written all the time does not stop the stream`, async () => {
    const { b, client, received, read, high } = await replicated(type);
    for (let round = 0; round < 50; round++) {
      b.store('hot', { value: `${round}` });
      b.store(`k${round}`, { value: `${round}` });
      read();
      // The version of the hot key that the copy has is replaced by the next write before the stream continues.
      received(high());
      b.store('hot', { value: 'later' });
      read();
      assert.ok(client.position >= high() - 3, `${client.position} of ${high()}`);
    }
  });

  test(`${type}: whole snapshots are states of the vbucket, however far the copy is`, async (t) => {
    const draw = aSeed(t);
    const { b, client, received, read, high } = await replicated(type, () => draw(5) === 0);
    const states = new Map<number, Map<string, string>>();
    const present = new Map<string, string>();
    let wholes = 0;
    client.onWhole = () => {
      wholes++;
      assert.deepEqual(client.copy, states.get(client.position), `at ${client.position}`);
    };
    let reported = 0;
    for (let round = 0; round < 600; round++) {
      const key = `k${draw(draw(3) === 0 ? 40 : 2)}`;
      const value = `${round} `.repeat(draw(40) === 0 ? 9_000 : 1);
      if (draw(5) === 0 && present.has(`\0${key}`)) {
        assert.equal(b.remove(key), Status.success);
        present.delete(`\0${key}`);
      } else {
        assert.equal(b.store(key, { value }), Status.success);
        present.set(`\0${key}`, value);
      }
      states.set(high(), new Map(present));
      if (draw(3) === 0) {
        reported += draw(high() - reported + 1);
        received(reported);
      }
      if (draw(2) === 0) read();
      if (draw(20) === 0) {
        b.tick(50);
        await turn();
      }
    }
    received(high());
    for (let i = 0; i < 100 && client.position < high(); i++) {
      read();
      b.tick(50);
      await turn();
    }
    assert.deepEqual([client.position, client.copy], [high(), present]);
    assert.ok(wholes > 20, `${wholes} whole snapshots`);
  });
}

// Replication to a target that takes no documents because its memory or its disk is full: the status says so, and it goes on by itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { needs } from '../support/needs.ts';
import { eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { clientOf, contentOf, replicate, taskOf } from '../support/xdcr.ts';

const waitMs = 120_000;
const mib = 1 << 20;
/** As many documents of half a MiB as exceed the quota of the target's bucket, which is 100 MB. */
const documentsOfFull = 240;

const documents = (prefix: string, count: number, kind: 'set' | 'remove' = 'set'): StoreRequest[] =>
  Array.from({ length: count }, (_, index) => ({
    kind,
    key: `${prefix}-${index}`,
    value: kind === 'set' ? Buffer.alloc(mib / 2, `${prefix}-${index} `) : Buffer.alloc(0),
    flags: 0,
    expiry: 0,
    cas: 0n,
  }));

async function store(node: NodeProcess, requests: readonly StoreRequest[]): Promise<Set<number>> {
  const client = await clientOf(node);
  const statuses = new Set<number>();
  // In small groups: all at once are more than a client may have in flight.
  for (let from = 0; from < requests.length; from += 20)
    for (const { status } of await client.storeMany(0, requests.slice(from, from + 20))) statuses.add(status);
  client.close();
  return statuses;
}

const untilHeldUp = (source: NodeProcess): Promise<void> =>
  eventuallyWithin(waitMs, async () => {
    const { status, changesLeft, errors } = await taskOf(source);
    assert.ok(status === 'running' && changesLeft > 0);
    assert.match(errors[0] ?? '', /the target takes no documents for now \(temporaryFailure\)/);
  });

async function untilReplicated(source: NodeProcess, target: NodeProcess): Promise<void> {
  await eventuallyWithin(waitMs, async () => assert.equal((await taskOf(source)).changesLeft, 0));
  const arrived = await contentOf(target);
  for (const [key, text] of await contentOf(source)) assert.equal(arrived.get(key), text, key);
}

test('a target whose memory is full is in the errors of the replication, and gets the rest when it has room', async () => {
  await using source = await NodeProcess.start({ args: ['--bucket', 'b'] });
  await using target = await NodeProcess.start({ args: ['--bucket', 'b:ephemeral:100'] });
  const own = documents('own', documentsOfFull);
  assert.ok(
    (await store(target, own)).size > 1,
    'the bucket of the target accepted every document: it is not full',
  );
  await store(source, documents('sent', 60));
  await replicate(source, target);
  await untilHeldUp(source);
  await store(target, documents('own', documentsOfFull, 'remove'));
  await untilReplicated(source, target);
});

test('a target whose disk is full is in the errors of the replication, and gets the rest when it has room', {
  skip: needs('mount'),
}, async (t) => {
  const disk = new SmallDisk(t, '600m');
  await using source = await NodeProcess.start({ args: ['--bucket', 'b'] });
  await using target = await NodeProcess.start({ args: ['--bucket', 'b:native:100'], dataDir: disk.folder });
  disk.fill();
  await store(source, documents('sent', documentsOfFull));
  await replicate(source, target);
  await untilHeldUp(source);
  disk.free();
  await untilReplicated(source, target);
});

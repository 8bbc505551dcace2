// How long batches of documents occupy the data thread. What they hold is tested with the scans that read them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { BatchReply, BatchRequest } from '#wire/document-batch.ts';
import { startService } from '../../../test/support/data-service.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { TurnEndingClock } from '../../../test/support/turn-ending-clock.ts';

async function served() {
  const clock = new TurnEndingClock();
  const service = await startService(undefined, { clock });
  const { port1, port2 } = new MessageChannel();
  await service.service.serveBatches(port1);
  const ask = async (request: Omit<BatchRequest & { kind: 'vbuckets' }, 'kind'>): Promise<BatchReply> => {
    port2.postMessage({ kind: 'vbuckets', ...request });
    return ((await once(port2, 'message')) as [BatchReply])[0];
  };
  return {
    clock,
    service,
    port2,
    ask,
    async [Symbol.asyncDispose]() {
      port2.close();
      await service[Symbol.asyncDispose]();
    },
  };
}

const request = { id: 1, bucket: 'b', collection: 8, keysOnly: true };

test('batches are answered in turns that they share with clients', async () => {
  await using node = await served();
  const count = 50;
  const all = new Promise<void>((resolve) => {
    let left = count;
    node.port2.on('message', () => --left === 0 && resolve());
  });
  const before = node.clock.turns;
  for (let id = 0; id < count; id++)
    node.port2.postMessage({ kind: 'vbuckets', ...request, id, vbuckets: [0] });
  await all;
  assert.ok(node.clock.turns - before >= count / 2, `${node.clock.turns - before} turns`);
});

test('a batch ends after a limited number of slots of the index, even if it found no document', async () => {
  await using node = await served();
  const client = await node.service.ready();
  const documents = 3_000;
  const vbuckets = [0, 1, 2, 3, 4, 5];
  for (const vb of vbuckets) {
    client.send(
      ...Array.from({ length: documents }, (_, i) => ({
        opcode: Opcode.set,
        vb,
        key: Buffer.from(`\0k${i}`),
        extras: Buffer.alloc(8),
      })),
    );
    for (let i = 0; i < documents; i++) assert.equal((await client.next())?.status, 0);
  }
  const reply = await node.ask({ ...request, vbuckets });
  assert.equal(reply.entries?.length, 0);
  assert.ok(reply.vbuckets >= 1 && reply.vbuckets < vbuckets.length, `${reply.vbuckets} vbuckets`);
});

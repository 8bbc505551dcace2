// Streams of documents that have memory of their own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';
import { DcpClient } from '../../../test/support/dcp-client.ts';
import { ownMemoryBytes } from '../data/documents.ts';

test('sends large documents of a bucket without a disk whole and in order, from their own memory', async () => {
  await using service = await startService(aDesired({ buckets: [aBucket('b', { type: 'ephemeral' })] }));
  const kv = await service.ready();
  const large = (digit: string): string => digit.repeat(ownMemoryBytes + 7);
  for (const [key, value] of [
    ['a', 'x'],
    ['b', large('1')],
    ['c', 'y'],
    ['d', large('2')],
    ['e', 'z'],
  ] as const)
    await kv.ask({
      opcode: 0x01,
      key: Buffer.from(`\0${key}`),
      extras: Buffer.alloc(8),
      value: Buffer.from(value),
    });
  const client = await new DcpClient(await service.ready()).open();
  await client.stream(0);
  await client.reach([[0, 5]]);
  assert.deepEqual(
    [...client.copyOf(0).documents].map(([key, { value }]) => [key, value.toString()]),
    [
      ['\0a', 'x'],
      ['\0b', large('1')],
      ['\0c', 'y'],
      ['\0d', large('2')],
      ['\0e', 'z'],
    ],
  );
});

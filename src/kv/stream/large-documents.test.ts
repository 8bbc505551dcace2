// Streams of documents that have memory of their own.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  aBucket,
  aDesired,
  persistToMajority,
  startService,
  type TestService,
} from '../../../test/support/data-service.ts';
import { DcpClient } from '../../../test/support/dcp-client.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import type { DiskEngine } from '../data/disk-engine.ts';
import { ownMemoryBytes } from '../data/documents.ts';
import { sqliteEngine } from '../disk/adapters/sqlite-engine.ts';

for (const [place, bucket] of [
  ['memory of their own', aBucket('b', { type: 'ephemeral' })],
  ['a page of the disk', aBucket('b')],
] as const) {
  test(`large documents are sent whole and in order, from ${place}`, async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'divan-large-'));
    t.after(() => rm(dataDir, { recursive: true }));
    const { disk, freed } = notingFreedPages(sqliteEngine());
    await using service = await startService(aDesired({ buckets: [bucket] }), {
      dataDir,
      disk,
    });
    await streamsLarge(service, place === 'a page of the disk');
    if (place === 'a page of the disk') await eventually(() => assert.ok(freed.length > 0));
    // A page with a large document is not freed: the socket may still send from its memory.
    assert.deepEqual(
      freed.filter((bytes) => bytes >= ownMemoryBytes),
      [],
    );
  });
}

function notingFreedPages(disk: DiskEngine) {
  const freed: number[] = [];
  const backfill = disk.backfill.bind(disk);
  disk.backfill = async (...request) => {
    const page = await backfill(...request);
    const bytes = page.batch.length;
    const free = (): void => {
      freed.push(bytes);
      page.free?.();
    };
    return { ...page, free };
  };
  return { disk, freed };
}

/** The last write is persisted, and with it the others, so that the stream begins with a page of the disk. */
async function streamsLarge(service: TestService, isDurable: boolean): Promise<void> {
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
      opcode: Opcode.set,
      key: Buffer.from(`\0${key}`),
      extras: Buffer.alloc(8),
      value: Buffer.from(value),
      ...(isDurable && key === 'e' && { framing: persistToMajority }),
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
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';
import { DcpClient, liveDocuments } from '../../../test/support/dcp-client.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';

async function set(kv: KvConnection, key: string, value: string, vb = 0): Promise<void> {
  const reply = await kv.ask({
    opcode: 0x01,
    vb,
    key: keyOf(key),
    value: Buffer.from(value),
    extras: Buffer.alloc(8),
  });
  assert.equal(reply.status, 0);
}
const keyOf = (key: string, collection = 0): Buffer =>
  Buffer.concat([Buffer.from([collection]), Buffer.from(key)]);

for (const type of ['native', 'ephemeral'] as const) {
  test(`${type}: streams what is there, then what comes`, async () => {
    await using service = await startService(aDesired({ buckets: [aBucket('b', { type })] }));
    const kv = await service.ready();
    await set(kv, 'a', '1');
    await set(kv, 'b', '2');
    await set(kv, 'a', '3');
    const client = await new DcpClient(await service.ready()).open();
    assert.equal((await client.stream(0)).status, 0);
    await client.reach([[0, 3]]);
    assert.deepEqual(
      liveDocuments(client.copyOf(0)),
      new Map([
        ['\0b', '2'],
        ['\0a', '3'],
      ]),
    );
    await set(kv, 'c', '4');
    await client.reach([[0, 4]]);
    assert.equal((await kv.ask({ opcode: 0x04, key: keyOf('b') })).status, 0);
    await client.reach([[0, 5]]);
    assert.deepEqual(
      liveDocuments(client.copyOf(0)),
      new Map([
        ['\0a', '3'],
        ['\0c', '4'],
      ]),
    );
  });
}

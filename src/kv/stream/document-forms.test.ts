// The form in which a stream sends documents: with or without bodies and attributes, compressed or not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenFlag } from '#wire/dcp.ts';
import { Feature } from '#wire/features.ts';
import { snappyCompress, snappyInflate } from '#wire/snappy.ts';
import { Status } from '#wire/status.ts';
import { keyOf, withXattrs } from '../../../test/support/a-bucket.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';
import { DcpClient } from '../../../test/support/dcp-client.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { defaultManifest } from '../bucket/manifest.ts';

const withoutDisk = aDesired({ buckets: [aBucket('b', { type: 'ephemeral', manifest: defaultManifest })] });

async function set(kv: KvConnection, key: string, value: Buffer, datatype: number): Promise<void> {
  const request = { opcode: Opcode.set, key: keyOf(key), extras: Buffer.alloc(8), value, datatype };
  assert.equal((await kv.ask(request)).status, Status.success);
}

test('each client gets documents in the form that it requested', async () => {
  await using service = await startService(withoutDisk);
  const kv = await service.ready();
  const xattrs = withXattrs({ _sys: '1', user: '2' }, '{"a":1}');
  await set(kv, 'x', xattrs, 4);
  const packed = snappyCompress(Buffer.from('z'.repeat(100)), 0, 100);
  await set(kv, 'z', packed, 2);
  const seen = async (features: readonly number[], flags: number): Promise<unknown[]> => {
    const client = await new DcpClient(await service.ready({ features })).open(
      `${features} ${flags}`,
      1 | flags,
    );
    await client.stream(0);
    await client.until(() => client.changes.length === 2);
    client.connection.close();
    return client.changes.map(({ key, datatype, value }) => [key, datatype, value.toString('latin1')]);
  };
  const attributesText = xattrs.toString('latin1');
  const long = 'z'.repeat(100);
  assert.deepEqual(await seen(usualFeatures, OpenFlag.includeXattrs), [
    ['\0x', 5, attributesText],
    ['\0z', 2, packed.toString('latin1')],
  ]);
  assert.deepEqual(await seen(usualFeatures, 0), [
    ['\0x', 1, '{"a":1}'],
    ['\0z', 2, packed.toString('latin1')],
  ]);
  assert.deepEqual(await seen([Feature.collections], OpenFlag.includeXattrs), [
    ['\0x', 0, '{"a":1}'],
    ['\0z', 0, long],
  ]);
  assert.deepEqual(await seen([], 0), [
    ['x', 0, '{"a":1}'],
    ['z', 0, long],
  ]);
  assert.deepEqual(await seen(usualFeatures, OpenFlag.noValue), [
    ['\0x', 0, ''],
    ['\0z', 0, ''],
  ]);
  const section = attributesText.slice(0, -7);
  assert.deepEqual(await seen(usualFeatures, OpenFlag.includeXattrs | OpenFlag.noValue), [
    ['\0x', 4, section],
    ['\0z', 0, ''],
  ]);
  assert.deepEqual(await seen(usualFeatures, OpenFlag.noValueWithDatatype), [
    ['\0x', 5, ''],
    ['\0z', 2, ''],
  ]);
  assert.deepEqual(await seen([], OpenFlag.noValueWithDatatype), [
    ['x', 0, ''],
    ['z', 0, ''],
  ]);
});

test('attributes without their body have the form that the kept datatype says', async () => {
  await using service = await startService(withoutDisk);
  const kv = await service.ready();
  const section = withXattrs({ _sys: `"${'1'.repeat(100)}"` }, '');
  const value = Buffer.concat([section, Buffer.from(`"${'z'.repeat(200)}"`)]);
  await set(kv, 'x', snappyCompress(value, 0, value.length), 6);
  const client = new DcpClient(await service.ready());
  await client.open('xattrs', 1 | OpenFlag.includeXattrs | OpenFlag.noValueWithDatatype);
  await client.stream(0);
  await client.until(() => client.changes.length === 1);
  const [change] = client.changes;
  assert.equal(change?.datatype, 7);
  assert.deepEqual(snappyInflate(change.value, 0, change.value.length, 1000), section);
});

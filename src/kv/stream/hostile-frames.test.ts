// Frames of change stream clients that no honest client sends, or sends in this order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Message, StreamFlag } from '#wire/dcp.ts';
import { Magic } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';
import { DcpClient } from '../../../test/support/dcp-client.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { defaultManifest } from '../bucket/manifest.ts';

const { invalidArguments, notMyVbucket, notSupported, outOfRange, rollback } = Status;

test('hostile frames on a connection with streams get an error each, or close the connection', async () => {
  await using service = await startService(
    aDesired({ buckets: [aBucket('b', { type: 'ephemeral', manifest: defaultManifest })] }),
  );
  const early = await service.ready();
  for (const opcode of [Opcode.dcpCloseStream, Opcode.dcpNoop])
    assert.equal((await early.ask({ opcode })).status, invalidArguments);
  assert.equal(
    (await early.ask({ opcode: Opcode.dcpStreamRequest, extras: Buffer.alloc(48) })).status,
    invalidArguments,
  );
  assert.equal(
    (await early.ask({ opcode: Opcode.dcpControl, key: Buffer.from('a'), value: Buffer.from('b') })).status,
    invalidArguments,
  );
  const open = { opcode: Opcode.dcpOpen, key: Buffer.from('n') };
  assert.equal(
    (await early.ask({ ...open, extras: Buffer.from([0, 0, 0, 0, 0, 0, 0, 0]) })).status,
    notSupported,
  );
  assert.equal((await early.ask({ ...open, extras: Buffer.alloc(8, 0xff) })).status, invalidArguments);
  assert.equal(
    (await early.ask({ ...open, key: Buffer.alloc(201, 97), extras: Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]) }))
      .status,
    invalidArguments,
  );
  const client = await new DcpClient(await service.ready()).open();
  const ask = { start: 0, end: 5 };
  assert.equal((await client.stream(0, { ...ask, start: 6 })).status, outOfRange);
  assert.equal((await client.stream(0, { ...ask, snapStart: 1, snapEnd: 5 })).status, outOfRange);
  assert.equal((await client.stream(0, { ...ask, flags: 0x8000 })).status, invalidArguments);
  assert.equal((await client.stream(0, { ...ask, flags: StreamFlag.takeover })).status, notSupported);
  assert.equal((await client.stream(1024, ask)).status, notMyVbucket);
  assert.equal((await client.stream(0, { ...ask, value: 'text' })).status, invalidArguments);
  assert.equal((await client.stream(0, { start: 7, uuid: 1n })).status, rollback);
  assert.equal(
    (
      await client.ask({
        opcode: Opcode.dcpOpen,
        key: Buffer.from('n'),
        extras: Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]),
      })
    ).status,
    invalidArguments,
  );
  client.connection.send(
    { opcode: Opcode.dcpBufferAck, extras: Buffer.alloc(4, 0xff) },
    { magic: Magic.response, opcode: Message.mutation },
  );
  assert.equal((await client.control('enable_noop', 'true')).status, 0);
  // A response without a request, from a client that has no streams.
  early.send({ magic: Magic.response, opcode: Opcode.dcpNoop });
  await early.closed;
});

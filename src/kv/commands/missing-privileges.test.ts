// Commands that check the privileges of a collection themselves name what is missing, as the dispatcher does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Privilege } from '#auth/privileges.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { aDesired, aUser, startService } from '../../../test/support/data-service.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const context = (value: Buffer): string =>
  value.length > 0 ? (JSON.parse(value.toString()) as { error: { context: string } }).error.context : '';

test('a command that checks its collection itself names the missing privilege', async () => {
  const { dcpProducer, dcpStream, insert, read, simpleStats } = Privilege;
  const bits = (...all: number[]) => all.reduce((sum, bit) => sum | bit, 0);
  const scopes = {
    '8': { privileges: 0, collections: { '8': bits(read, dcpStream, simpleStats), '9': insert } },
  };
  const users = [
    aUser('clerk', 'password', { node: 0, buckets: { b: { privileges: dcpProducer, scopes } } }),
  ];
  await using service = await startService(aDesired({ users }));
  const client = await service.ready({ user: 'clerk' });
  const observed = Buffer.concat([Buffer.from([0, 0, 0, 2]), Buffer.from([9, 65])]);
  const seqnos = Buffer.from([0, 0, 0, 0, 0, 0, 0, 9]);
  const open = {
    opcode: Opcode.dcpOpen,
    key: Buffer.from('s'),
    extras: Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]),
  };
  assert.equal((await client.ask(open)).status, Status.success);
  for (const [request, missing] of [
    [{ opcode: Opcode.observe, value: observed }, 'Read'],
    [{ opcode: Opcode.getAllVbSeqnos, extras: seqnos }, 'Read'],
    [{ opcode: Opcode.getRandomKey, extras: Buffer.from([0, 0, 0, 9]) }, 'Read'],
    [{ opcode: Opcode.stat, key: Buffer.from('key-byid A 0 0x9') }, 'Read'],
    [{ opcode: Opcode.stat, key: Buffer.from('collections-byid 0x9') }, 'SimpleStats'],
    [
      {
        opcode: Opcode.dcpStreamRequest,
        extras: Buffer.alloc(48),
        value: Buffer.from('{"collections":["9"]}'),
      },
      'DcpStream',
    ],
  ] as const) {
    const refused = await client.ask(request);
    assert.deepEqual(
      [refused.status, context(refused.value)],
      [Status.noAccess, `Requires privilege: ${missing}`],
      `${request.opcode}`,
    );
  }
});

test('a client without collections, from which the default collection is hidden, is told the missing privilege', async () => {
  const scopes = { '8': { privileges: 0, collections: { '8': Privilege.read } } };
  const user = aUser('clerk', 'password', { node: 0, buckets: { b: { privileges: 0, scopes } } });
  await using service = await startService(aDesired({ users: [user] }));
  const client = await service.connect();
  // The client negotiates error texts, but no collections.
  await client.hello([Feature.xerror, Feature.json]);
  await client.plain('clerk', 'password');
  assert.equal((await client.select('b')).status, Status.success);
  const refused = await client.ask({ opcode: Opcode.get, key: Buffer.from('k') });
  assert.deepEqual([refused.status, context(refused.value)], [Status.noAccess, 'Requires privilege: Read']);
});

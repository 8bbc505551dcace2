// Limits of users at the data port, on the wire.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DataUserLimits } from '#kv/admin.ts';
import { Status } from '#wire/status.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import { aDesired, aUser, startService } from '../../../test/support/data-service.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const unlimited: DataUserLimits = {
  connections: Infinity,
  operations: Infinity,
  ingressMib: Infinity,
  egressMib: Infinity,
};
const desired = (limits: Partial<DataUserLimits> | null) =>
  aDesired({
    users: [
      aUser('admin', 'password'),
      { ...aUser('app', 'password'), ...(limits && { limits: { ...unlimited, ...limits } }) },
    ],
  });
const key = Buffer.from('\0k');
const read = { opcode: Opcode.get, key };
const setting = (value: Buffer) => ({ opcode: Opcode.set, extras: Buffer.alloc(8), key, value });

describe('a limited user', () => {
  it('has a limited number of operations per minute over all connections; other users have no limit', async () => {
    const clock = new ManualClock();
    await using test = await startService(desired({ operations: 12 }), { clock });
    const [first, second] = [await test.ready({ user: 'app' }), await test.ready({ user: 'app' })];
    const statuses = new Set<number>();
    const limited = async (connection: typeof first) => {
      for (let turn = 0; turn < 12; turn++) {
        const { status } = await connection.ask(read);
        statuses.add(status);
        if (status === Status.rateLimitedCommands) return;
      }
      assert.fail('no limit');
    };
    await limited(first);
    assert.deepEqual([...statuses], [Status.keyNotFound, Status.rateLimitedCommands]);
    assert.equal((await second.ask(read)).status, Status.rateLimitedCommands);
    const admin = await test.ready();
    for (let turn = 0; turn < 30; turn++) assert.equal((await admin.ask(read)).status, Status.keyNotFound);
    // A change of limits does not reset the count of the minute; the next minute does.
    await test.service.apply(desired({ operations: 13, egressMib: 100 }));
    assert.equal((await second.ask(read)).status, Status.keyNotFound);
    assert.equal((await second.ask(read)).status, Status.rateLimitedCommands);
    clock.advance(60_000);
    assert.equal((await second.ask(read)).status, Status.keyNotFound);
    await test.service.apply(desired(null));
    for (let turn = 0; turn < 30; turn++) assert.equal((await first.ask(read)).status, Status.keyNotFound);
  });

  it('sends and receives a limited number of megabytes per minute', async () => {
    const clock = new ManualClock();
    await using test = await startService(desired({ ingressMib: 1 }), { clock });
    const app = await test.ready({ user: 'app' });
    const half = Buffer.alloc(600 << 10);
    for (const status of [Status.success, Status.success, Status.rateLimitedIngress])
      assert.equal((await app.ask(setting(half))).status, status);
    await test.service.apply(desired({ egressMib: 1 }));
    clock.advance(60_000);
    for (const status of [Status.success, Status.success, Status.rateLimitedEgress])
      assert.equal((await app.ask(read)).status, status);
    clock.advance(60_000);
    assert.equal((await app.ask(read)).status, Status.success);
  });

  it('has a limited number of connections at a time, with each way to log in', async () => {
    await using test = await startService(desired({ connections: 2 }));
    const first = await test.ready({ user: 'app' });
    await test.ready({ user: 'app' });
    const third = await test.connect();
    await third.hello(usualFeatures);
    const plain = () =>
      third.ask({
        opcode: Opcode.saslAuth,
        key: Buffer.from('PLAIN'),
        value: Buffer.from('\0app\0password'),
      });
    assert.equal((await plain()).status, Status.rateLimitedConnections);
    assert.equal((await plain()).status, Status.rateLimitedConnections);
    assert.equal(
      (await third.scram('SCRAM-SHA256', 'app', 'password')).reply.status,
      Status.rateLimitedConnections,
    );
    assert.equal(
      (
        await third.ask({
          opcode: Opcode.saslAuth,
          key: Buffer.from('PLAIN'),
          value: Buffer.from('\0admin\0password'),
        })
      ).status,
      0,
    );
    first.close();
    await first.closed;
    const fourth = await test.connect();
    await fourth.plain('app', 'password');
  });
});

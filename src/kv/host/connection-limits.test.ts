// Effects of the connection limits on clients, over real sockets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import type { KvLimits } from '#kv/admin.ts';
import { type Log, silentLog } from '#ports/log.ts';
import { aDesired, startService } from '../../../test/support/data-service.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const limits = (changes: Partial<KvLimits>): { limits: KvLimits } => ({
  limits: { connectionsMax: 65_000, idleSeconds: 0, logsConnections: false, ...changes },
});
const noop = { opcode: Opcode.noop };

describe('the limit on connections', () => {
  it('closes connections above it with an end, not a reset, and follows changes at once', async () => {
    await using started = await startService(aDesired(limits({ connectionsMax: 2 })));
    const { service, port } = started;
    const first = await started.connect();
    const second = await started.connect();
    await second.ask(noop);
    const third = connect(port, '127.0.0.1');
    third.write(Buffer.alloc(24, 0x80));
    third.resume();
    const [hadError] = (await once(third, 'close')) as [boolean];
    assert.equal(hadError, false);
    assert.equal((await first.ask(noop)).status, 0);
    assert.equal((await second.ask(noop)).status, 0);
    await service.apply(aDesired(limits({ connectionsMax: 3 })));
    const fourth = await started.connect();
    assert.equal((await fourth.ask(noop)).status, 0);
  });

  it('closes one above it that neither ends nor stops to send', async () => {
    await using started = await startService(aDesired(limits({ connectionsMax: 1 })));
    await started.connect();
    const refused = connect({ port: started.port, host: '127.0.0.1', allowHalfOpen: true });
    const sending = setInterval(() => refused.write('x'), 50);
    refused.on('error', () => {}); // the data service resets the connection
    refused.resume();
    await eventually(() => assert.ok(refused.closed)).finally(() => {
      clearInterval(sending);
      refused.destroy();
    });
  });

  it('accepts another when one has closed', async () => {
    await using started = await startService(aDesired(limits({ connectionsMax: 1 })));
    const first = await started.connect();
    await first.ask(noop);
    first.close();
    await eventually(async () => assert.equal((await started.service.report()).connections, 0));
    const second = await started.connect();
    assert.equal((await second.ask(noop)).status, 0);
  });
});

describe('a data service that does not know its users yet', () => {
  it('closes connections without refusing a login, which clients would take as final', async () => {
    const closed: boolean[] = [];
    const early = async (port: number): Promise<void> => {
      const client = connect(port, '127.0.0.1');
      let received = 0;
      client.on('data', (bytes) => (received += bytes.length));
      const [hadError] = (await once(client, 'close')) as [boolean];
      closed.push(hadError || received > 0);
    };
    await using started = await startService(aDesired(), { beforeApply: early });
    assert.deepEqual(closed, [false]);
    const client = await started.ready();
    assert.equal((await client.ask(noop)).status, 0);
  });
});

describe('the limit on idle time', () => {
  it('closes only connections without requests', async () => {
    const clock = new ManualClock();
    const desired = aDesired(limits({ idleSeconds: 10 }));
    await using started = await startService(desired, { clock });
    const idle = await started.ready();
    const busy = await started.ready();
    for (let second = 0; second < 12; second++) {
      assert.equal((await busy.ask(noop)).status, 0);
      clock.advance(1_000);
    }
    assert.equal(await idle.next(), null);
    assert.equal((await busy.ask(noop)).status, 0);
  });

  it('closes no connection until it is set', async () => {
    const clock = new ManualClock();
    await using started = await startService(aDesired(), { clock });
    const client = await started.ready();
    clock.advance(3_600_000);
    assert.equal((await client.ask(noop)).status, 0);
    await started.service.apply(aDesired(limits({ idleSeconds: 5 })));
    clock.advance(4_000);
    assert.equal((await client.ask(noop)).status, 0);
    clock.advance(8_000);
    assert.equal(await client.next(), null);
  });
});

it('connections are logged when they open and close, if that is configured', async () => {
  const events: string[] = [];
  const log: Log = { ...silentLog, info: (event) => void events.push(event), child: () => log };
  const desired = aDesired(limits({ logsConnections: true, connectionsMax: 1 }));
  await using started = await startService(desired, { log });
  const client = await started.connect();
  await client.ask(noop);
  const refused = connect(started.port, '127.0.0.1').resume();
  await once(refused, 'close');
  client.close();
  const expected = ['connection.opened', 'connection.refused', 'connection.closed'];
  await eventually(() =>
    assert.deepEqual(
      events.filter((event) => event.startsWith('connection.')),
      expected,
    ),
  );
});

describe('clients that have not logged in', () => {
  /** Permits 8 connections that have not logged in, 4 of them from one address. */
  const handles = { data: 16, rest: 16 };

  it('are limited per address; clients of other addresses and authenticated ones still connect', async () => {
    await using started = await startService(undefined, { handles });
    const unauthenticated = await Promise.all(Array.from({ length: 4 }, () => started.connect()));
    for (const client of unauthenticated) await client.ask(noop);
    const fifth = connect(started.port, '127.0.0.1').on('error', () => {});
    fifth.resume();
    await once(fifth, 'close');
    const other = connect({ port: started.port, host: '127.0.0.1', localAddress: '127.0.0.9' });
    await once(other, 'connect');
    await unauthenticated[0]!.plain('admin', 'password');
    const sixth = await started.connect();
    assert.equal((await sixth.ask(noop)).status, 0, 'a client that logged in is not counted');
    other.destroy();
  });

  it('no longer count when they close', async () => {
    await using started = await startService(undefined, { handles });
    for (let round = 0; round < 10; round++) {
      const client = await started.connect();
      await client.ask(noop);
      client.close();
      await eventually(async () => assert.equal((await started.service.report()).connections, 0));
    }
  });
});

it('connections beyond the number of file handles that are reserved for them are closed', async () => {
  await using started = await startService(undefined, { handles: { data: 2, rest: 16 } });
  const first = await started.ready();
  const second = await started.ready();
  const third = connect(started.port, '127.0.0.1').on('error', () => {});
  third.resume();
  await once(third, 'close');
  for (const client of [first, second]) assert.equal((await client.ask(noop)).status, 0);
});

import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { probe } from './server-probe.adapter.ts';

test('the version of a server, and whether it stores, are read from the line that it sends before the login', async (t) => {
  const line = 'INFO {"version":"2.10.1","cluster":"c"';
  const lines = [`${line}}\r\n`, `${line},"jetstream":true}\r\n`, 'hello\n', 'INFO {broken\n'];
  const server = { version: '2.10.1', cluster: 'c' };
  const expected = [{ ...server, stores: false }, { ...server, stores: true }, null, null];
  t.plan(lines.length + 1);
  for (const [i, line] of lines.entries()) {
    const listening = createServer((socket) => socket.on('error', () => {}).write(line)).listen(
      0,
      '127.0.0.1',
    );
    await new Promise((resolve) => listening.once('listening', resolve));
    const { port } = listening.address() as AddressInfo;
    const found = await probe({ host: '127.0.0.1', port }).finally(() => listening.close());
    const wanted = expected[i] ?? null;
    t.assert.deepEqual(found, wanted && { address: `127.0.0.1:${port}`, ...wanted });
  }
  t.assert.equal(await probe({ host: '127.0.0.1', port: 1 }), null);
});

test('a probe waits a second for the first line of a server, also of one that sends a byte of it now and then', async () => {
  const listening = createServer((socket) => {
    const timer = setInterval(() => socket.write('I'), 100);
    socket.on('error', () => {}).on('close', () => clearInterval(timer));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => listening.once('listening', resolve));
  const { port } = listening.address() as AddressInfo;
  assert.equal(await probe({ host: '127.0.0.1', port }).finally(() => listening.close()), null);
});

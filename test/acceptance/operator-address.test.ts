// Another user of this machine cannot reach the REST and data ports from the operator's address.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { NodeProcess } from '../support/node-process.ts';

const operator = '127.255.0.1';
const nobody = 65_534;
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

/** Connects as a user, sends a request that needs no login, and prints how many bytes it receives. */
const program = `
  const [uid, port, localAddress] = process.argv.slice(1);
  process.setuid(Number(uid));
  const socket = require('node:net').connect({ host: '127.0.0.1', port: Number(port), localAddress });
  let bytes = 0;
  const end = () => { console.log(bytes); process.exit(); };
  socket.on('data', (data) => { bytes += data.length; end(); });
  socket.on('error', () => {});
  socket.on('close', end);
  socket.write(port === process.argv[4] ? 'GET /pools HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' : Buffer.concat([Buffer.of(0x80, 0x0b), Buffer.alloc(22)]));
`;

test("only this user's processes, from the operator's address, reach the REST and data ports", {
  skip: !isRoot && 'needs root on Linux, to run a process as another user',
}, async () => {
  await using node = await NodeProcess.start({ args: ['--operator-address', operator] });
  const [rest, data] = [node.ready.node.rest, node.ready.node.kv].map(
    (url) => url.split(':').at(-1) as string,
  );
  const bytes = (uid: number, port: string, from: string): number => {
    const args = ['-e', program, String(uid), port, from, rest as string];
    return Number(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout);
  };
  for (const port of [rest, data] as string[]) {
    assert.ok(bytes(0, port, operator) > 0, port);
    assert.equal(bytes(nobody, port, operator), 0, port);
    assert.equal(bytes(0, port, '127.0.0.9'), 0, port);
  }
});

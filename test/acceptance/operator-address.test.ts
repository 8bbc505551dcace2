// Who reaches the REST and data ports of a node with an operator's address: only processes of its user, and only from that address.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { NodeProcess } from '../support/node-process.ts';

const operator = '127.255.0.1';
const elsewhere = '127.0.0.9';
const [root, nobody] = [0, 65_534];
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

/** Connects as a user, sends a request that needs no login (VERSION, 0x0b, to the data port), and prints the size of the first part of the answer; 0: none. */
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

test("the REST and data ports answer only processes of the node's own user that connect from the operator's address", {
  skip: !isRoot && 'needs root on Linux, to run a process as another user',
}, async () => {
  await using node = await NodeProcess.start({ args: ['--operator-address', operator] });
  const [rest, data] = [node.ready.node.rest, node.ready.node.kv].map(
    (url) => url.split(':').at(-1) as string,
  );
  const receivedBytes = (uid: number, port: string, from: string): number => {
    const args = ['-e', program, String(uid), port, from, rest as string];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.match(stdout, /^\d+\n$/, stderr);
    return Number(stdout);
  };
  for (const port of [rest, data] as string[]) {
    assert.ok(receivedBytes(root, port, operator) > 0, port);
    assert.equal(receivedBytes(nobody, port, operator), 0, port);
    assert.equal(receivedBytes(root, port, elsewhere), 0, port);
  }
});

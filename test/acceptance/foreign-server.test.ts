// Commands whose address is that of another server: each says so, whatever the server answers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { runCommand } from '../support/command.ts';

const answers = ['null', '{}', '[null, 5, {"x": 1}]', '"text"', '['.repeat(100_000), '<html></html>'];
const commands = [
  'bucket list',
  'bucket create x',
  'collection list b',
  'user list',
  'doc get b k',
  'doc list b',
  'logs',
  'xdcr list',
  'sample travel',
];

test('commands say that a server is no node, without a stack', async (t) => {
  let answer = '';
  const server = createServer((_request, response) => response.end(answer)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (answer of answers)
    for (const command of commands) {
      const run = await runCommand([...command.split(' '), '--url', url], { DIVAN_PASSWORD: 'secret' });
      const context = `${command}: ${answer.slice(0, 20)}: ${run.error}`;
      assert.ok(run.status !== 0 && run.out === '', context);
      assert.doesNotMatch(run.error, /\n {4}at |TypeError/, context);
      assert.match(run.error, /^divan: .*(is http.* the address of|not reach|no sample)/, context);
    }
});

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { rest } from './rest.adapter.ts';

test('refuses an answer that is larger than the limit, however long it would become', async (t) => {
  const server = createServer((request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(10_000)));
    };
    if (request.url === '/endless') response.on('drain', more).flushHeaders();
    if (request.url === '/endless') more();
    else response.end(Buffer.alloc(100_000, 'x'));
  });
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, answerBytesMax: 100_000 };
  assert.equal((await rest(target, 'GET', '/exact')).body.length, 100_000);
  await assert.rejects(rest(target, 'GET', '/endless'), {
    message: 'GET /endless: the answer is larger than 100000 bytes',
  });
});

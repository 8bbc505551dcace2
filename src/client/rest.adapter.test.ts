import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { rest } from './rest.adapter.ts';

test('an answer that is larger than the limit is refused, however long it would become', async (t) => {
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

test('an answer that is not complete in time is refused, even if its bytes keep coming', async (t) => {
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    responses.push(response);
    response.flushHeaders();
  });
  // More often than the limit, so that the connection is never idle.
  const timer = setInterval(() => {
    for (const response of responses) response.write(' ');
  }, 20);
  t.after(() => {
    clearInterval(timer);
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, timeoutMs: 400 };
  await assert.rejects(rest(target, 'GET', '/slow'), { message: 'GET /slow: no answer in 400 ms' });
});

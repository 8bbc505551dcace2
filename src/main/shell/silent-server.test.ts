// A query service that does not answer a statement.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { sendStatement } from './query-client.ts';

async function aServer(t: TestContext, listener: RequestListener) {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, username: 'u', password: 'p', authority: undefined };
}

test('a statement ends with an error that says what to do if the server answers no ping either', async (t) => {
  const asked: string[] = [];
  const target = await aServer(t, ({ url = '' }) => void asked.push(url));
  const clock = new ManualClock();
  const refused = assert.rejects(
    sendStatement(target, 'SELECT 1', { clock }),
    /127\.0\.0\.1:\d+ does not answer: .* no ping for 20 seconds.* restart a node that hangs/,
  );
  await eventually(() => assert.deepEqual(asked, ['/query/service']));
  clock.advance(10_000);
  await eventually(() => assert.deepEqual(asked, ['/query/service', '/admin/ping']));
  clock.advance(20_000);
  await refused;
});

test('a statement takes as long as it needs while the server answers pings', async (t) => {
  let pings = 0;
  let body = '';
  const target = await aServer(t, (request, response) => {
    if (request.url === '/admin/ping') {
      pings++;
      response.end('{}');
      return;
    }
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    const replyTimer = setInterval(() => {
      if (pings < 3) return;
      clearInterval(replyTimer);
      response.end('{"status":"success"}');
    }, 1);
  });
  const clock = new ManualClock();
  const answer = sendStatement(target, 'SELECT 1', { clock, timeoutSeconds: 3_600 });
  for (let wanted = 1; wanted <= 3; wanted++)
    await eventually(() => {
      if (pings < wanted) clock.advance(1_000);
      assert.equal(pings, wanted);
    });
  assert.deepEqual(await answer, { status: 'success' });
  assert.deepEqual(JSON.parse(body), { statement: 'SELECT 1', timeout: '3600s' });
});

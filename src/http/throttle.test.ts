import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { bind, defineRoute, type Reply, reply } from '#contract/route.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { eventually } from '../../test/support/node-process.ts';
import { parseTarget } from './path.ts';
import { createHttpServer } from './server.ts';
import { Throttle } from './throttle.ts';

const mib = 1024 * 1024;
const route = (path: string) =>
  defineRoute({ id: path, method: 'GET', path, access: { kind: 'anyone' }, doc: '' });

/** A server with routes that answer at once, on demand (`/held`), and with an endless stream. */
async function aLimitedServer(wording: 'text' | 'json' = 'text') {
  const limits: { requests: number | null; memoryMib: number | null } = { requests: null, memoryMib: null };
  const memory = { bytes: 0 };
  const throttle = new Throttle({
    limits: () => limits,
    memoryBytes: () => memory.bytes,
    random: realRandom,
    wording,
  });
  const waiting: (() => void)[] = [];
  let authentications = 0;
  const server = await createHttpServer({
    routes: [
      bind(route('/quick'), () => reply.text('ok')),
      bind(route('/internalSettings'), () => reply.text('settings')),
      bind(route('/diag/vbuckets'), () => reply.text('diagnostics')),
      bind(route('/held'), async () => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return reply.text('late');
      }),
      bind(route('/stream'), () =>
        reply.stream(async function* (signal) {
          yield 'first';
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        }),
      ),
    ],
    authority: {
      isProvisioned: () => true,
      anonymous: {
        identity: { name: '', domain: 'anonymous' },
        hasRoles: false,
        permits: () => false,
        holds: () => false,
      },
      byCertificate: () => null,
      authenticate: async () => {
        authentications++;
        return null;
      },
    },
    hooks: { clusterUuid: () => '', bucketUuid: () => null },
    log: silentLog,
    clock: realClock,
    throttle,
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return {
    limits,
    memory,
    throttle,
    held: waiting,
    port,
    ask,
    authentications: () => authentications,
    async [Symbol.asyncDispose]() {
      for (const release of waiting) release();
      await server.stop(100);
    },
  };
}

/** Opens a connection and sends the text. */
async function sendOn(port: number, text: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  return socket;
}

const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const untilInProgress = (throttle: Throttle, count: number) =>
  eventually(() => assert.equal(throttle.inProgress, count));

describe('the limit of concurrent requests', () => {
  it('asks clients to wait between 1 and 10 seconds', () => {
    for (const [byte, seconds] of [
      [0, '1'],
      [9, '10'],
      [10, '1'],
      [255, '6'],
    ] as const) {
      const throttle = new Throttle({
        limits: () => ({ requests: 0, memoryMib: null }),
        memoryBytes: () => 0,
        random: { ...realRandom, bytes: () => Buffer.of(byte) },
        wording: 'text',
      });
      const refused = throttle.enter(parseTarget('/pools')) as Reply;
      assert.equal('headers' in refused && refused.headers?.['Retry-After'], seconds);
    }
  });

  it('refuses requests above it with a reason and Retry-After, before checking credentials', async () => {
    await using server = await aLimitedServer();
    const { limits, port, ask, throttle, authentications } = server;
    limits.requests = 1;
    const socket = await sendOn(port, request('/held'));
    await untilInProgress(throttle, 1);
    const before = authentications();
    const { status, text, headers } = await ask('/quick', { authorization: 'Basic YTpi' });
    assert.equal(status, 503);
    assert.equal(
      text,
      'Request throttled because maximum number of simultaneous connections has been exceeded',
    );
    assert.match(headers.get('content-type') ?? '', /^text\/plain/);
    assert.match(headers.get('retry-after') ?? '', /^([1-9]|10)$/);
    assert.equal(authentications(), before);
    server.held[0]?.();
    await untilInProgress(throttle, 0);
    assert.equal((await ask('/quick')).status, 200);
    socket.destroy();
  });

  it('answers with an object on view ports', async () => {
    await using server = await aLimitedServer('json');
    server.limits.requests = 0;
    const { status, text } = await server.ask('/quick');
    assert.equal(status, 503);
    assert.deepEqual(JSON.parse(text), {
      error: 'request_limit_exceeded',
      reason: 'Request throttled because maximum number of simultaneous connections has been exceeded',
    });
  });

  it('refuses all requests if it is zero, except those for diagnostics and those that change the limit', async () => {
    await using server = await aLimitedServer();
    server.limits.requests = 0;
    assert.equal((await server.ask('/quick')).status, 503);
    assert.equal((await server.ask('/none')).status, 503);
    assert.equal((await server.ask('/internalSettings')).text, 'settings');
    assert.equal((await server.ask('/diag/vbuckets')).text, 'diagnostics');
    assert.equal((await server.ask('/internalSettingsToo')).status, 503);
    assert.equal(server.throttle.inProgress, 0);
  });

  it('counts streams while they are open, and no idle connection', async () => {
    await using server = await aLimitedServer();
    const { limits, port, ask, throttle } = server;
    limits.requests = 1;
    const idle = await Promise.all(Array.from({ length: 5 }, () => sendOn(port, request('/quick'))));
    await untilInProgress(throttle, 0);
    const stream = await sendOn(port, request('/stream'));
    await untilInProgress(throttle, 1);
    assert.equal((await ask('/quick')).status, 503);
    stream.destroy();
    await untilInProgress(throttle, 0);
    assert.equal((await ask('/quick')).status, 200);
    for (const socket of idle) socket.destroy();
  });

  it('counts down when clients disconnect: reset, half closed, or with more requests in transit', async () => {
    await using server = await aLimitedServer();
    const { port, throttle } = server;
    const cut = await sendOn(port, request('/held'));
    const pipelined = await sendOn(port, request('/held') + request('/quick') + request('/stream'));
    const half = await sendOn(port, request('/stream'));
    await untilInProgress(throttle, 5);
    cut.destroy();
    pipelined.resetAndDestroy();
    await untilInProgress(throttle, 1);
    half.end();
    await untilInProgress(throttle, 0);
    half.destroy();
  });

  it('counts many requests on one connection, each once', async () => {
    await using server = await aLimitedServer();
    const socket = await sendOn(server.port, request('/quick').repeat(50));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString();
    });
    await eventually(() => assert.equal(received.match(/HTTP\/1\.1 200/g)?.length, 50));
    await untilInProgress(server.throttle, 0);
    socket.destroy();
  });
});

describe('the limit of memory', () => {
  it('refuses requests while the process uses that much memory, before the other limit is checked', async () => {
    await using text = await aLimitedServer();
    text.limits.memoryMib = 100;
    text.limits.requests = 0;
    text.memory.bytes = 100 * mib;
    const refused = await text.ask('/quick');
    assert.deepEqual(
      [refused.status, refused.text],
      [503, 'Request throttled because memory limit has been exceeded'],
    );
    assert.ok(refused.headers.has('retry-after'));
    text.limits.requests = null;
    text.memory.bytes = 100 * mib - 1;
    assert.equal((await text.ask('/quick')).status, 200);
  });

  it('answers with an object on view ports', async () => {
    await using server = await aLimitedServer('json');
    server.limits.memoryMib = 0;
    assert.deepEqual(JSON.parse((await server.ask('/quick')).text), {
      error: 'memory_limit_exceeded',
      reason: 'Request throttled because memory limit has been exceeded',
    });
  });
});

// Refusals of a request by its size and headers, before the server parses the body.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { Authority, Caller } from '#auth/authority.ts';
import { bind, defineRoute, type RouteDefinition, reply } from '#contract/route.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { createHttpServer } from './server.ts';

const anonymous: Caller = {
  identity: { name: '', domain: 'anonymous' },
  hasRoles: false,
  permits: () => false,
  holds: () => false,
};
const authority: Authority = {
  isProvisioned: () => true,
  anonymous,
  byCertificate: () => null,
  authenticate: async () => null,
};

const echo = (definition: Pick<RouteDefinition, 'method' | 'path' | 'bodyKind'>) =>
  bind(defineRoute({ id: definition.path, access: { kind: 'anyone' }, doc: '', ...definition }), ({ body }) =>
    reply.json({ body }),
  );

const serve = (routes: Parameters<typeof createHttpServer>[0]['routes']) =>
  createHttpServer({
    routes,
    authority,
    log: silentLog,
    clock: realClock,
    hooks: { clusterUuid: () => 'c1', bucketUuid: () => null },
  });

/** The bytes that the server sends until it closes the connection. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (data) => {
      received += data.toString();
    });
    socket.once('close', () => resolve(received));
    socket.write(text);
  });
}

test('the server refuses forms of very many fields and JSON of very many parts before reading them', async () => {
  const server = await serve([
    echo({ method: 'POST', path: '/f', bodyKind: 'form' }),
    echo({ method: 'POST', path: '/a', bodyKind: 'anyForm' }),
    echo({ method: 'POST', path: '/j', bodyKind: 'json' }),
  ]);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const post = async (url: string, payload: string) => {
    const answer = await server.inject({ method: 'POST', url, payload, headers });
    return answer.statusCode === 400 ? answer.json().errors : answer.statusCode;
  };
  const fields = (count: number) => Array.from({ length: count }, (_, at) => `k${at}=1`).join('&');
  for (const url of ['/f', '/a']) {
    assert.equal(await post(url, fields(2_000)), 200);
    assert.deepEqual(await post(url, fields(2_001)), { _: 'A form must have at most 2000 fields' });
  }
  assert.deepEqual(await post('/j', '['.repeat(5_000_000)), { _: 'Json must have at most 64 levels' });
  assert.deepEqual(await post('/j', `[${'{},'.repeat(3_000_000)}{}]`), {
    _: 'Json must have at most 100000 values',
  });
});

test('the server refuses a request that names its host twice', async () => {
  const server = await serve([echo({ method: 'GET', path: '/known' })]);
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const send = (hosts: string) => raw(port, `GET /known HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`);
  assert.match(await send('Host: a\r\n'), /^HTTP\/1.1 200 /);
  for (const hostHeaders of ['Host: a\r\nHost: b\r\n', 'Host: a\r\nhost: a\r\n'])
    assert.match(await send(hostHeaders), /^HTTP\/1.1 400 [\s\S]*given more than once/);
  await server.stop(1000);
});

test('the server refuses a body with another coding than chunks', async () => {
  const server = await serve([echo({ method: 'POST', path: '/known', bodyKind: 'raw' })]);
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  for (const [codings, wanted] of [
    ['gzip, chunked', 501],
    ['gzip,Chunked', 501],
    ['Chunked', 200],
  ] as const) {
    const head = `POST /known HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ${codings}\r\nConnection: close\r\n\r\n`;
    assert.match(await raw(port, `${head}2\r\nab\r\n0\r\n\r\n`), new RegExp(`^HTTP/1.1 ${wanted} `), codings);
  }
  await server.stop(1000);
});

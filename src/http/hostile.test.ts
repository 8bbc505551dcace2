import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Authority, Caller } from '#auth/authority.ts';
import { field, filledForm } from '#contract/fields.ts';
import { bind, defineRoute, reply } from '#contract/route.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { aSeed, type Random, randomBytes } from '../../test/support/random.ts';
import { createHttpServer } from './server.ts';

const anyone: Caller = {
  identity: { name: '', domain: 'anonymous' },
  hasRoles: true,
  permits: () => true,
  holds: () => true,
};
const authority: Authority = {
  isProvisioned: () => true,
  anonymous: anyone,
  byCertificate: () => null,
  authenticate: async () => anyone,
};

async function aServer(t: TestContext) {
  const doc = '';
  const access = { kind: 'anyone' } as const;
  const schema = filledForm({ a: field.integer(0, 9), 'b[c]': field.boolean().optional() });
  const failures: string[] = [];
  const log = { ...silentLog, error: (event: string) => void failures.push(event) };
  const server = await createHttpServer({
    routes: [
      bind(defineRoute({ id: 'get', method: 'GET', path: '/a/:b/c', access, doc }), ({ params }) =>
        reply.json(params),
      ),
      bind(
        defineRoute({
          id: 'form',
          method: 'POST',
          path: '/form',
          access,
          bodyKind: 'form',
          body: schema,
          doc,
        }),
        ({ body }) => reply.json(body),
      ),
      bind(
        defineRoute({
          id: 'json',
          method: 'POST',
          path: '/json',
          access,
          bodyKind: 'json',
          body: schema,
          doc,
        }),
        ({ body }) => reply.json(body),
      ),
    ],
    authority,
    hooks: { clusterUuid: () => '', bucketUuid: () => null },
    log,
    clock: realClock,
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => server.stop(0));
  return { server, port, failures };
}

const form = 'Content-Type: application/x-www-form-urlencoded\r\n';
const samples = [
  'GET /a/%41%2F/c?x=1&x=2#f HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YTpi\r\n\r\n',
  `POST /form HTTP/1.1\r\nHost: x\r\n${form}Content-Length: 15\r\n\r\na=1&b%5Bc%5D=true`,
  'POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"a":"1"}',
  `POST /form HTTP/1.1\r\nHost: x\r\n${form}Transfer-Encoding: chunked\r\n\r\n3\r\na=1\r\n0\r\n\r\n`,
  'GET /a/b/c HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
];

function mutate(random: Random, text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  for (let changes = random(4); changes >= 0; changes--) {
    const at = random(bytes.length);
    const kind = random(3);
    if (kind === 0) bytes[at] = random(256);
    else if (kind === 1)
      return Buffer.concat([bytes.subarray(0, at), randomBytes(random, random(40)), bytes.subarray(at)]);
    else return bytes.subarray(0, at);
  }
  return bytes;
}

const dial = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });

/** Sends the bytes, half-closes the connection, and waits until the server closes it. */
async function sendAndWait(port: number, bytes: Buffer): Promise<void> {
  const socket = await dial(port);
  socket.removeAllListeners('error').on('error', () => {});
  socket.resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.end(bytes);
  await closed;
}

async function ask(socket: Socket): Promise<string> {
  const answer = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(chunk.toString())));
  socket.write('GET /a/b/c HTTP/1.1\r\nHost: x\r\n\r\n');
  return await answer;
}

test('the server survives mutated requests and keeps serving other connections', async (t) => {
  const random = aSeed(t);
  const { port, failures } = await aServer(t);
  const other = await dial(port);
  for (let round = 0; round < 100; round++) {
    const batch = Array.from({ length: 10 }, () =>
      sendAndWait(port, mutate(random, samples[random(samples.length)] as string)),
    );
    await Promise.all(batch);
    assert.match(await ask(other), /^HTTP\/1.1 200 [\s\S]*\{"b":"b"\}$/);
  }
  assert.deepEqual(failures, [], 'no malformed request may count as a server error');
  other.destroy();
});

test('random forms and queries get a success or client error, never a 500', async (t) => {
  const random = aSeed(t);
  const { server, failures } = await aServer(t);
  for (let round = 0; round < 1000; round++) {
    const bytes = randomBytes(random, random(60));
    const text = bytes.toString('latin1').replaceAll(/[^!-~]/g, '%');
    const answers = await Promise.all([
      server.inject({
        method: 'POST',
        url: '/form',
        payload: bytes,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
      server.inject({ method: 'POST', url: '/json', payload: bytes }),
      server.inject({ method: 'GET', url: `/a/b/c?${text}` }),
      server.inject({ method: 'GET', url: '/a/b/c', headers: { authorization: text || 'x' } }),
    ]);
    for (const answer of answers)
      assert.ok([200, 400, 401].includes(answer.statusCode), `${answer.statusCode}`);
  }
  assert.deepEqual(failures, []);
});

test('the server drops a request whose client disconnects during the body, without logging an error', async (t) => {
  const { port, failures } = await aServer(t);
  for (let round = 0; round < 50; round++) {
    const socket = await dial(port);
    socket.write(`POST /form HTTP/1.1\r\nHost: x\r\n${form}Content-Length: 1000\r\n\r\na=1`);
    socket.destroy();
  }
  const other = await dial(port);
  assert.match(await ask(other), /^HTTP\/1.1 200 /);
  other.destroy();
  assert.deepEqual(failures, []);
});

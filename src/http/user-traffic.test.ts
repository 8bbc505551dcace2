// Bodies of requests and of answers count against a user's limits of bytes per minute, whether a body is chunked or has a declared length.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import type { Authority, Caller } from '#auth/authority.ts';
import { bind, defineRoute, type Reply, reply } from '#contract/route.ts';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { createHttpServer } from './server.ts';

const mib = 1 << 20;
const halfMebibyte = 'x'.repeat(mib / 2);

const user: Caller = {
  identity: { name: 'app', domain: 'local' },
  hasRoles: true,
  limits: { clusterManager: { ingress_mib_per_min: 2, egress_mib_per_min: 2 } },
  permits: () => true,
  holds: () => true,
};
const authority: Authority = {
  isProvisioned: () => true,
  anonymous: { ...user, identity: { name: '', domain: 'anonymous' } },
  byCertificate: () => null,
  authenticate: async () => user,
};

async function* halfMebibytes(count: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < count; at++) yield Buffer.from(halfMebibyte);
}

async function serve() {
  const access = { kind: 'authenticated' } as const;
  const post = { method: 'POST', access, doc: '' } as const;
  const get = { method: 'GET', access, doc: '' } as const;
  const forwarded = (): Reply => ({ kind: 'bytes', status: 200, headers: {}, source: halfMebibytes(4) });
  const server = await createHttpServer({
    routes: [
      bind(defineRoute({ ...post, id: 'read', path: '/read', bodyKind: 'raw', bodyBytesMax: 8 * mib }), () =>
        reply.empty(),
      ),
      bind(defineRoute({ ...post, id: 'small', path: '/small', bodyKind: 'raw', bodyBytesMax: mib }), () =>
        reply.empty(),
      ),
      bind(defineRoute({ ...post, id: 'ignored', path: '/ignored' }), () => reply.empty()),
      bind(defineRoute({ ...get, id: 'stream', path: '/stream' }), () =>
        reply.stream(async function* () {
          for (let at = 0; at < 4; at++) yield halfMebibyte;
        }),
      ),
      bind(defineRoute({ ...get, id: 'forwarded', path: '/forwarded' }), forwarded),
      bind(defineRoute({ ...get, id: 'text', path: '/text' }), () => reply.text(halfMebibyte.repeat(4))),
      bind(defineRoute({ ...get, id: 'none', path: '/none' }), () => reply.empty()),
    ],
    authority,
    hooks: { clusterUuid: () => 'c1', bucketUuid: () => null },
    log: silentLog,
    clock: new ManualClock(),
  });
  const headers = { authorization: `Basic ${btoa('app:password')}` };
  const ask = async (method: 'GET' | 'POST' | 'HEAD', url: string, payload?: Readable | Buffer) => {
    const answer = await server.inject({ method, url, headers, ...(payload && { payload }) });
    return [answer.statusCode, answer.statusCode === 200 ? '' : answer.body];
  };
  return { ask, server };
}

describe('the limits of a user in bytes', () => {
  for (const path of ['/read', '/small'])
    it(`count a chunked body sent to ${path}`, async () => {
      const { ask } = await serve();
      const [first] = await ask('POST', path, Readable.from(halfMebibytes(4)));
      assert.equal(first, path === '/small' ? 413 : 200);
      assert.deepEqual(await ask('GET', '/none'), [429, 'Limit(s) exceeded [ingress]']);
    });

  it('count a chunked body that its route ignores', async (t) => {
    const { server } = await serve();
    t.after(() => server.stop(1000));
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
    const socket = connect(port, '127.0.0.1');
    const head = `Host: x\r\nAuthorization: Basic ${btoa('app:password')}\r\n`;
    const chunk = `${halfMebibyte.length.toString(16)}\r\n${halfMebibyte}\r\n`;
    socket.write(`POST /ignored HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n`);
    socket.end(`${chunk.repeat(4)}0\r\n\r\nGET /none HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
    const answers = await text(socket);
    assert.deepEqual(answers.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 429']);
  });

  it('count a body with a declared length once', async () => {
    const { ask } = await serve();
    assert.deepEqual(await ask('POST', '/read', Buffer.from(halfMebibyte.repeat(3))), [200, '']);
    assert.deepEqual(await ask('POST', '/read', Buffer.from(halfMebibyte)), [200, '']);
    assert.deepEqual(await ask('GET', '/none'), [429, 'Limit(s) exceeded [ingress]']);
  });

  it('count a body that is refused', async () => {
    const { ask } = await serve();
    for (let at = 0; at < 2; at++)
      assert.equal((await ask('POST', '/small', Buffer.from(halfMebibyte.repeat(3))))[0], 413);
    assert.deepEqual(await ask('GET', '/none'), [429, 'Limit(s) exceeded [ingress]']);
  });

  for (const path of ['/stream', '/forwarded', '/text'])
    it(`count the answer of ${path}`, async () => {
      const { ask } = await serve();
      assert.deepEqual(await ask('HEAD', path), [200, '']);
      assert.deepEqual(await ask('GET', '/none'), [200, '']);
      assert.deepEqual(await ask('GET', path), [200, '']);
      assert.deepEqual(await ask('GET', '/none'), [429, 'Limit(s) exceeded [egress]']);
    });
});

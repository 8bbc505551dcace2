// Hostile requests: the cloud refuses them, closes connections where needed, and never fails.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { createApi } from '#cloud/http/api.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { aCluster } from '../support/cloud-cluster.ts';
import type { CloudDescription } from '../support/cloud-description.ts';
import { createToken } from '../support/cloud-operator.ts';
import { CloudProcess } from '../support/cloud-process.ts';
import { printedSeed } from '../support/seed.ts';

const nobody = '00000000-0000-4000-8000-000000000000';
const waitMs = 120_000;

function connectTo(api: string): Socket {
  const { hostname, port } = new URL(api);
  return connect(Number(port), hostname);
}

/** Sends bytes; returns what the server sends until the text matches `until`, the server closes the connection, or time runs out. */
async function raw(api: string, bytes: string | Buffer, { until = /\r\n\r\n/ } = {}) {
  const socket = connectTo(api);
  let text = '';
  let closed = false;
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
  });
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  socket.write(bytes);
  const deadline = performance.now() + waitMs;
  while (!closed && !until.test(text) && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 5));
  return {
    text,
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]),
    async closed() {
      while (!closed && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
      socket.destroy();
      return closed;
    },
    end: () => socket.destroy(),
  };
}

describe('hostile requests', () => {
  let cloud: CloudProcess;
  let clusterId: string;
  before(async () => {
    // More requests than a token may usually send.
    cloud = await CloudProcess.start({ args: ['--rate-limit', '100000'] });
    clusterId = (await aCluster(cloud)).id;
  });
  after(() => cloud[Symbol.asyncDispose]());

  const head = (method: string, path: string, ...headers: string[]): string =>
    [`${method} ${path} HTTP/1.1`, `Authorization: Bearer ${cloud.ready.token}`, ...headers].join('\r\n');
  const json = 'Content-Type: application/json';
  const withBody = (body: string | Buffer, type = json, path = '/v2/projects'): Buffer =>
    Buffer.concat([
      Buffer.from(
        `${head('POST', path, 'Host: x', type, `Content-Length: ${Buffer.byteLength(body)}`)}\r\n\r\n`,
      ),
      Buffer.from(body),
    ]);

  test('refuses bodies that violate the description, and says what would be right', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const bodies: [body: string | Buffer, message: RegExp, type?: string][] = [
      ['{"name":', /body: is not JSON/],
      ['', /body: is missing: it must be an object/],
      ['null', /body: must be an object/],
      ['{"name":"x","__proto__":{"a":1}}', /__proto__: unknown field/],
      ['{"name":"x","constructor":{"prototype":1}}', /constructor: unknown field/],
      [deep, /body: must be an object/],
      [`{"name":${deep}}`, /name: must be a string of 1 to 128/],
      ['{"name":1e400}', /name: must be a string/],
      [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /body: is not UTF-8/],
      ['{"name":"a\\u0000b"}', /name: must contain no null characters/],
      ['{"name":"\\ud800"}', /name: must contain no null characters and no unpaired surrogates/],
      [`{"name":"${'x'.repeat(129)}"}`, /name: must have 1 to 128 characters/],
      ['{"name":"x"}', /content-type: must be application\/json/, 'Content-Type: text/plain'],
      [
        'name=x',
        /content-type: must be application\/json/,
        'Content-Type: application/x-www-form-urlencoded',
      ],
      ['{"name":"x"}', /content-type: must be application\/json/, 'X-Nothing: 1'],
      ['{"name":"x"}', /content-type: must be application\/json/, 'Content-Type: %%%'],
    ];
    for (const [body, message, type] of bodies) {
      const answer = await raw(cloud.ready.api, withBody(body, type));
      answer.end();
      assert.equal(answer.status, 422, `${String(body).slice(0, 60)}: ${answer.text}`);
      assert.match(answer.text, message);
    }
    // The last of several members with one name counts, as in JSON.parse.
    const twice = await raw(cloud.ready.api, withBody('{"name":"a","name":"b"}'));
    twice.end();
    assert.match(twice.text, /^HTTP\/1\.1 201[\s\S]*"name":"b"/);
  });

  test('refuses an oversized body with or without Content-Length, and closes the connection', async () => {
    const large = 1024 * 1024 + 1;
    const withLength = `${head('POST', '/v2/projects', 'Host: x', json, `Content-Length: ${large}`)}\r\n\r\n{`;
    const chunk = `${(1 << 16).toString(16)}\r\n${' '.repeat(1 << 16)}\r\n`.repeat(17);
    const chunked = `${head('POST', '/v2/projects', 'Host: x', json, 'Transfer-Encoding: chunked')}\r\n\r\n${chunk}`;
    for (const bytes of [withLength, chunked]) {
      const answer = await raw(cloud.ready.api, bytes);
      assert.equal(answer.status, 413, answer.text);
      assert.match(answer.text, /"errorType":"PayloadTooLarge"/);
      assert.ok(await answer.closed());
    }
  });

  test('sends exactly application/json, which a published client compares', async () => {
    for (const path of ['/v2/status', '/v2/projects', '/v2/projects?page=0', '/nowhere', '/openapi.json']) {
      const { headers } = await fetch(new URL(path, cloud.ready.api), {
        headers: { authorization: `Bearer ${cloud.ready.token}` },
      });
      assert.equal(headers.get('content-type'), 'application/json', path);
    }
    const malformed = await raw(cloud.ready.api, 'no request\r\n\r\n');
    assert.match(malformed.text, /content-type: application\/json\r\n/);
  });

  test('accepts ids in capital letters', async () => {
    const { body: shown } = await cloud.request('GET', `/v2/clusters/${clusterId}`);
    const upperCased = await cloud.request('GET', `/v2/clusters/${clusterId.toUpperCase()}`);
    assert.deepEqual(upperCased.body, shown);
    const { projectId, cloudId } = shown;
    const upper = { projectId: projectId.toUpperCase(), cloudId: cloudId.toUpperCase() };
    const listed = await cloud.request(
      'GET',
      `/v2/clusters?projectId=${upper.projectId}&cloudId=${upper.cloudId}`,
    );
    assert.equal(listed.body.cursor.pages.totalItems, 1);
    const owner = createToken(cloud, '--role', 'projectOwner', '--project', projectId);
    const creation = await cloud.request('POST', '/v2/clusters', { name: 'upper', ...upper }, owner.token);
    assert.equal(creation.status, 202, JSON.stringify(creation.body));
    const { body } = await cloud.request('GET', creation.headers.get('location') as string);
    assert.deepEqual([body.projectId, body.cloudId], [projectId, cloudId]);
    assert.equal((await cloud.request('DELETE', `/v2/clusters/${body.id.toUpperCase()}`)).status, 202);
  });

  test('treats an empty body with a content type as no body', async () => {
    const answer = await raw(
      cloud.ready.api,
      `${head('DELETE', `/v2/projects/${nobody}`, 'Host: x', json, 'Content-Length: 0')}\r\n\r\n`,
    );
    answer.end();
    assert.equal(answer.status, 404, answer.text);
  });

  test('finds nothing under odd paths, refuses odd parameters, and ignores the Host header', async () => {
    const paths: [path: string, status: number][] = [
      ['//v2/status', 404],
      ['/v2/%2e%2e/v2/status', 404],
      ['/v2/clusters/%2e%2e', 404],
      ['/v2/clusters/..%2f..%2fstatus', 404],
      ['/v2%2fstatus', 404],
      ['/v2/clusters/%ff', 404],
      ['/v2/clusters/%zz', 404],
      ['/v2/clusters/%00', 404],
      [`/v2/clusters/${nobody}/users/%00`, 405],
      [`/v2/clusters/${'x'.repeat(5_000)}`, 404],
      [`/v2/clusters/${nobody}%00`, 404],
      ['/v2/status;a=b', 404],
      ['/v2/status?x=%ff&__proto__=1', 200],
      ['/v2/clouds?__proto__=1', 422],
      ['/v2/clouds?page=%ff', 422],
      ['/v2/clouds?page[a]=1', 422],
      ['http://elsewhere.example/v2/clouds', 200],
      ['http://[/v2/clouds', 404],
    ];
    for (const [path, status] of paths) {
      const answer = await raw(cloud.ready.api, `${head('GET', path, 'Host: x')}\r\n\r\n`);
      answer.end();
      assert.equal(answer.status, status, `${path}: ${answer.text}`);
    }
    for (const host of ['[', 'a b', 'x:99999', '%', '']) {
      const answer = await raw(cloud.ready.api, `${head('GET', '/v2/clouds', `Host: ${host}`)}\r\n\r\n`);
      answer.end();
      assert.equal(answer.status, 200, `${host}: ${answer.text}`);
    }
  });

  test('answers malformed HTTP with its JSON error, and closes the connection', async () => {
    const wrong: [bytes: string, status: number, kind: string][] = [
      ['hello\r\n\r\n', 400, 'BadRequest'],
      [`GET /v2/status HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'HeadersTooLarge'],
      [
        'GET /v2/status HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
        400,
        'BadRequest',
      ],
      ['GET /v2/status HTTP/1.1\r\n\r\n', 400, 'BadRequest'],
      ['GET /nowhere HTTP/1.1\r\n\r\n', 400, 'BadRequest'],
      ['GET /v2/status HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n', 417, 'ExpectationFailed'],
    ];
    for (const [bytes, status, kind] of wrong) {
      const answer = await raw(cloud.ready.api, bytes);
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.text, new RegExp(`"errorType":"${kind}"`));
      assert.ok(await answer.closed());
    }
  });

  test('accepts HTTP/1.0 without a Host header, and supports Expect: 100-continue', async () => {
    const old = await raw(cloud.ready.api, 'GET /v2/status HTTP/1.0\r\n\r\n');
    assert.equal(old.status, 200, old.text);
    assert.ok(await old.closed());
    const headers = ['Host: x', json, 'Content-Length: 12', 'Expect: 100-continue'];
    const answer = await raw(cloud.ready.api, `${head('POST', '/v2/projects', ...headers)}\r\n\r\n`);
    answer.end();
    assert.equal(answer.status, 100, answer.text);
  });

  test('answers the requests before malformed HTTP on the same connection first', async () => {
    const good = `${head('GET', '/v2/clouds', 'Host: x')}\r\n\r\n`;
    const answer = await raw(cloud.ready.api, `${good}${good}no request\r\n\r\n`, {
      until: /not an HTTP request/,
    });
    assert.deepEqual(answer.text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400']);
    assert.ok(await answer.closed());
  });

  test('answers 408 to a request that is incomplete at the limit of its time, and closes the connection', async () => {
    const apis = [undefined, 200].map((requestTimeoutMs) =>
      createApi({
        clock: realClock,
        operations: [],
        find: () => Promise.resolve(undefined),
        authenticate: () => Promise.reject(new Error('nobody')),
        log: silentLog,
        ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
      }),
    );
    const sockets: Socket[] = [];
    try {
      const answers: Promise<{ socket: Socket; text: string }>[] = [];
      // The server with the default limit of 30 s gets the request first: with equal limits it would answer first.
      for (const app of apis) {
        const socket = connectTo(await app.listen({ host: '127.0.0.1', port: 0 }));
        sockets.push(socket);
        await once(socket, 'connect');
        socket.write('GET /v2/status HTTP/1.1\r\nHost:');
        answers.push(once(socket, 'data').then((chunks) => ({ socket, text: String(chunks) })));
      }
      const limited = sockets[1] as Socket;
      const { socket, text } = await Promise.race(answers);
      assert.equal(socket, limited, 'the limit of 200 ms ended no earlier than the default limit');
      assert.match(text, /^HTTP\/1\.1 408 /);
      if (!limited.closed) await once(limited, 'close');
    } finally {
      for (const socket of sockets) socket.destroy();
      await Promise.all(apis.map((app) => app.close()));
    }
  });

  test('answers random and nearly valid requests without failing', async () => {
    const description = await cloud.description();
    const operations = Object.entries(description.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method: method.toUpperCase(),
        operation,
      })),
    );
    const request = fc.constantFrom(...operations).chain(({ path, method, operation }) =>
      fc.record({
        method: fc.constant(method),
        path: pathNear(path, method === 'DELETE' && path.endsWith('/{id}') ? nobody : clusterId),
        query: fc.option(fc.dictionary(word, word, { maxKeys: 3 }), { nil: {} }),
        body: bodyNear(operation.requestBody, description),
      }),
    );
    const seed = printedSeed(console.log);
    await fc.assert(
      fc.asyncProperty(request, async ({ method, path, query, body }) => {
        const search = new URLSearchParams(query ?? {}).toString();
        const { status } = await cloud.request(method, `${path}${search === '' ? '' : `?${search}`}`, body);
        assert.ok(status < 500, String(status));
      }),
      { seed, numRuns: 1_000 },
    );
    assert.doesNotMatch(cloud.output, /request\.failed/);
  });
});

const word = fc.oneof(
  fc.constantFrom(
    'page',
    'perPage',
    'sortBy',
    'projectId',
    '1',
    '0',
    '-1',
    'name.asc',
    'id.desc',
    nobody,
    '',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.toWellFormed()),
);

/** The path with ids and names that exist or not. No part of it is `.` or `..`, which fetch would resolve. */
const pathNear = (path: string, clusterId: string) =>
  fc
    // The id of a bucket is its name in base64: `Yg` is `b`.
    .array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(clusterId, nobody, 'Yg', 'app') }, word), {
      minLength: 2,
      maxLength: 2,
    })
    .map(([id, name]) =>
      path
        .replace('{id}', encodeURIComponent(id || nobody))
        .replace(/\{\w+\}/, encodeURIComponent(name || 'x'))
        .replace(/\/\.{1,2}(?=\/|$)/g, '/x'),
    );

type Shape = { [key: string]: unknown };

/** Described bodies with some parts replaced by random values. */
function bodyNear(requestBody: unknown, { document }: CloudDescription): fc.Arbitrary<unknown> {
  const schema = (requestBody as { content?: { 'application/json': { schema: Shape } } } | undefined)
    ?.content?.['application/json'].schema;
  if (schema === undefined) return fc.constant(undefined);
  const known = document.components.schemas as Record<string, Shape>;
  return fc.oneof({ weight: 5, arbitrary: valueNear(schema, known) }, fc.jsonValue());
}

function valueNear(schema: Shape, known: Record<string, Shape>): fc.Arbitrary<unknown> {
  const name = (schema['$ref'] as string | undefined)?.split('/').at(-1);
  if (name !== undefined) return valueNear(known[name] as Shape, known);
  const right = rightValue(schema, known);
  return fc.oneof({ weight: 12, arbitrary: right }, fc.jsonValue());
}

function rightValue(schema: Shape, known: Record<string, Shape>): fc.Arbitrary<unknown> {
  if (schema['enum'] !== undefined) return fc.constantFrom(...(schema['enum'] as unknown[]));
  if (schema['anyOf'] !== undefined)
    return fc.oneof(...(schema['anyOf'] as Shape[]).map((each) => valueNear(each, known)));
  switch (schema['type']) {
    case 'object': {
      const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Shape>);
      const required = (schema['required'] ?? []) as never[];
      return fc.record(Object.fromEntries(properties.map(([key, each]) => [key, valueNear(each, known)])), {
        requiredKeys: required,
      });
    }
    case 'array':
      return fc.array(valueNear(schema['items'] as Shape, known), { maxLength: 3 });
    case 'integer':
      return fc.oneof(fc.integer({ min: 1, max: 200 }), fc.maxSafeInteger());
    case 'boolean':
      return fc.boolean();
    default:
      return schema['format'] === 'uuid' ? fc.constantFrom(nobody, nobody.toUpperCase()) : word;
  }
}

test('a cloud stops although a request never arrives completely', async () => {
  await using cloud = await CloudProcess.start();
  const incomplete = [
    'POST /v2/projects HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${cloud.ready.token}`,
    'Content-Type: application/json',
    'Content-Length: 100',
    '',
    '{',
  ];
  const socket = connectTo(cloud.ready.api);
  socket.on('error', () => {});
  socket.write(incomplete.join('\r\n'));
  // The answer comes on a later connection: by then the server has received what the first connection sent.
  assert.equal((await cloud.request('GET', '/v2/status')).status, 200);
  const ended = await Promise.race([
    cloud.stop('SIGTERM'),
    new Promise((resolve) => setTimeout(resolve, waitMs, 'still running').unref()),
  ]);
  socket.destroy();
  assert.equal(ended, 0);
});

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { Authority, Caller } from '#auth/authority.ts';
import { UnwritableError } from '#base/unwritable-error.ts';
import { field, filledForm } from '#contract/fields.ts';
import { defineRefusals } from '#contract/refusal.ts';
import { type BoundRoute, bind, defineRoute, type RouteDefinition, reply } from '#contract/route.ts';
import { type Clock, realClock } from '#ports/clock.ts';
import { type Log, silentLog } from '#ports/log.ts';
import { createHttpServer } from './server.ts';

const caller = (name: string, allowed: (permission: { operation: string }) => boolean): Caller => ({
  identity: { name, domain: name === '' ? 'anonymous' : 'admin' },
  hasRoles: name !== 'roleless',
  permits: allowed,
  holds: (role) => role === name,
});

function authority(provisioned = true): Authority {
  return {
    isProvisioned: () => provisioned,
    anonymous: caller('', () => false),
    byCertificate: () => null,
    authenticate: async ({ name, password }) =>
      password === 'right' ? caller(name, ({ operation }) => name === 'admin' || operation === 'read') : null,
  };
}

const route = (route: Partial<RouteDefinition> & Pick<RouteDefinition, 'method' | 'path'>): RouteDefinition =>
  defineRoute({ id: `${route.method} ${route.path}`, access: { kind: 'anyone' }, doc: '', ...route });

async function serve(
  routes: readonly BoundRoute[],
  options: { provisioned?: boolean; log?: Log; clock?: Clock } = {},
) {
  return await createHttpServer({
    routes,
    authority: authority(options.provisioned),
    hooks: {
      clusterUuid: () => 'c1',
      bucketUuid: (name) => (name === 'travel' ? 'b1' : null),
    },
    log: options.log ?? silentLog,
    clock: options.clock ?? realClock,
  });
}

const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});

const echo = (definition: Partial<RouteDefinition> & Pick<RouteDefinition, 'method' | 'path'>) =>
  bind(route(definition), (input) =>
    reply.json({ params: input.params, query: input.query, body: input.body }),
  );

test('the server splits the path before decoding it, and drops empty tokens', async () => {
  const server = await serve([echo({ method: 'GET', path: '/settings/:name' })]);
  for (const url of ['/settings/a%2Fb', '//settings///a%2Fb//', '/settings/a%2fb/']) {
    const answer = await server.inject({ method: 'GET', url });
    assert.deepEqual(answer.json().params, { name: 'a/b' }, url);
  }
});

test('the server accepts request targets in absolute form, as proxies send them', async () => {
  const server = await serve([echo({ method: 'GET', path: '/settings/:name' })]);
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const answer = await raw(
    port,
    'GET http://node:8091/settings/a?b=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  );
  assert.match(answer, /"name":"a"\},"query":\{"b":"1"\}/);
  await server.stop(1000);
});

test('a form that is only to be validated, and is valid, gets an answer without errors', async () => {
  const definition = route({ method: 'POST', path: '/v', acceptsJustValidate: true });
  const server = await serve([
    bind(definition, (input) => (input.justValidate ? reply.json('validated') : reply.empty(202))),
  ]);
  const post = async (url: string) => {
    const answer = await server.inject({ method: 'POST', url });
    return [answer.statusCode, answer.body];
  };
  assert.deepEqual(await post('/v?just_validate=1'), [200, '{"errors":{}}']);
  assert.deepEqual(await post('/v?just_validate=true'), [202, '']);
});

test('a route with a parameter is found although another route has that token as a literal', async () => {
  const server = await serve([
    echo({ method: 'GET', path: '/b/fixed/one' }),
    echo({ method: 'GET', path: '/b/:name/two' }),
  ]);
  const answer = await server.inject({ method: 'GET', url: '/b/fixed/two' });
  assert.deepEqual(answer.json().params, { name: 'fixed' });
});

test('unknown paths and methods get the status and text of their method', async (t) => {
  const server = await serve([echo({ method: 'GET', path: '/known' })]);
  const table = [
    ['GET', '/x', 404, 'Not found.'],
    ['POST', '/x', 404, 'Requested resource not found.\r\n'],
    ['POST', '/known', 404, 'Requested resource not found.\r\n'],
    ['PUT', '/x', 405, 'Method Not Allowed'],
    ['DELETE', '/known', 405, 'Method Not Allowed'],
    ['PATCH', '/known', 405, 'Method Not Allowed'],
    ['OPTIONS', '/known', 405, 'Method Not Allowed'],
    ['TRACE' as 'OPTIONS', '/known', 405, 'Method Not Allowed'],
    ['PROPFIND' as 'OPTIONS', '/x', 405, 'Method Not Allowed'],
    ['GET', '/%', 404, 'The path is not valid: broken percent-encoding or not UTF-8.'],
    ['GET', '/known/%ff', 404, 'The path is not valid: broken percent-encoding or not UTF-8.'],
  ] as const;
  t.plan(table.length * 2);
  for (const [method, url, status, text] of table) {
    const answer = await server.inject({ method, url });
    t.assert.equal(answer.statusCode, status, `${method} ${url}`);
    t.assert.equal(answer.body, text);
  }
});

test('the server answers HEAD as GET, without a body', async () => {
  const server = await serve([echo({ method: 'GET', path: '/known' })]);
  const answer = await server.inject({ method: 'HEAD', url: '/known' });
  assert.equal(answer.statusCode, 200);
  assert.equal(answer.body, '');
  assert.ok(Number(answer.headers['content-length']) > 0);
});

test('answers have the standard headers, and JSON is sent in one piece with its length', async () => {
  const server = await serve([echo({ method: 'GET', path: '/known' })]);
  const answer = await server.inject({ method: 'GET', url: '/known' });
  assert.equal(answer.headers['server'], 'Divan');
  assert.equal(answer.headers['content-type'], 'application/json');
  assert.equal(answer.headers['content-length'], String(answer.body.length));
  assert.equal(answer.headers['cache-control'], 'no-cache,no-store,must-revalidate');
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
});

test('the server reads a form only with the form content type, and the first value of a repeated name', async () => {
  const server = await serve([echo({ method: 'POST', path: '/f', bodyKind: 'form' })]);
  const send = async (type: string | undefined, payload: string) =>
    (
      await server.inject({
        method: 'POST',
        url: '/f',
        payload,
        headers: type ? { 'content-type': type } : {},
      })
    ).json().body;
  const form = 'application/x-www-form-urlencoded';
  assert.deepEqual(await send(form, 'a=1&a=2&b%5Bc%5D=x+y&d[e]=%20'), { a: '1', 'b[c]': 'x y', 'd[e]': ' ' });
  assert.deepEqual(await send(`${form}; charset=UTF-8`, 'roles=admin,data_reader[b:s:c]'), {
    roles: 'admin,data_reader[b:s:c]',
  });
  assert.deepEqual(await send(form, 'p=50%&q=%zz&__proto__=x').then((b) => [b.p, b.q]), ['50%', '%zz']);
  assert.deepEqual(await send('text/plain', 'a=1'), {});
  assert.deepEqual(await send('not/a/type;;', 'a=1'), {});
  assert.deepEqual(await send(undefined, 'a=1'), {});
});

test('the server refuses bodies above the limit with 413, before and while reading them', async () => {
  const server = await serve([
    echo({ method: 'POST', path: '/f', bodyKind: 'form' }),
    echo({ method: 'POST', path: '/j', bodyKind: 'json' }),
    echo({ method: 'POST', path: '/small', bodyKind: 'raw', bodyBytesMax: 3 }),
  ]);
  const status = async (url: string, payload: string, headers: Record<string, string> = {}) =>
    (await server.inject({ method: 'POST', url, payload, headers })).statusCode;
  const mebi = 1 << 20;
  assert.equal(await status('/f', 'x'.repeat(mebi)), 200);
  assert.equal(await status('/f', 'x'.repeat(mebi + 1)), 413);
  assert.equal(await status('/j', `"${'x'.repeat(10 * mebi - 2)}"`), 200);
  assert.equal(await status('/j', `"${'x'.repeat(10 * mebi - 1)}"`), 413);
  assert.equal(await status('/small', 'abc'), 200);
  assert.equal(await status('/small', 'abcd'), 413);
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const chunked = await raw(
    port,
    'POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n',
  );
  assert.match(chunked, /^HTTP\/1.1 413 /);
  assert.match(chunked, /The request body is larger than 3 bytes\.$/);
  await server.stop(1000);
});

test('a refusal names every wrong field of a form', async () => {
  const schema = filledForm({ minLength: field.integer(0, 100), on: field.boolean().optional() });
  const server = await serve([echo({ method: 'POST', path: '/p', bodyKind: 'form', body: schema })]);
  const post = async (payload: string) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await server.inject({ method: 'POST', url: '/p', payload, headers });
    return answer.statusCode === 400 ? answer.json().errors : answer.json().body;
  };
  assert.deepEqual(await post('minLength=101&on=1&x=2'), {
    minLength: 'The value must be in range from 0 to 100',
    on: 'The value must be one of the following: [true,false]',
    x: 'Unsupported key',
  });
  assert.deepEqual(await post('minLength=1.0'), { minLength: 'The value must be an integer' });
  assert.deepEqual(await post('on=true'), { minLength: 'The value must be supplied' });
  assert.deepEqual(await post(''), { _: 'Request should have parameters' });
  assert.deepEqual(await post('minLength=+7'), { minLength: 7 });
});

test('refusals distinguish malformed JSON from JSON that violates the schema', async () => {
  const schema = filledForm({ a: field.text() });
  const server = await serve([echo({ method: 'POST', path: '/j', bodyKind: 'json', body: schema })]);
  const errors = async (payload: string) =>
    (await server.inject({ method: 'POST', url: '/j', payload })).json().errors;
  assert.deepEqual(await errors('{'), { _: 'Invalid Json' });
  assert.deepEqual(await errors(''), { _: 'Invalid Json' });
  assert.deepEqual(await errors('[]'), { _: 'Unexpected Json' });
});

test('a 401 has no body, and has a challenge unless the client asks for none', async () => {
  const server = await serve([
    echo({ method: 'GET', path: '/a', access: { kind: 'authenticated' } }),
    echo({ method: 'GET', path: '/open' }),
  ]);
  const get = (url: string, headers: Record<string, string> = {}) =>
    server.inject({ method: 'GET', url, headers });
  const bare = await get('/a');
  assert.equal(bare.statusCode, 401);
  assert.equal(bare.headers['www-authenticate'], 'Basic realm="Divan"');
  assert.equal(bare.body, '');
  const quiet = await get('/a', { 'invalid-auth-response': 'on' });
  assert.equal(quiet.headers['www-authenticate'], undefined);
  for (const headers of [
    basic('admin', 'wrong'),
    basic('roleless', 'right'),
    { authorization: 'Bearer x' },
  ]) {
    assert.equal((await get('/a', headers)).statusCode, 401);
  }
  assert.equal((await get('/open', basic('admin', 'wrong'))).statusCode, 401);
  assert.equal((await get('/open')).statusCode, 200);
  assert.equal((await get('/a', basic('admin', 'right'))).statusCode, 200);
});

test('a 403 names the permission, with the bucket of the path', async () => {
  const access = { kind: 'permission', permission: 'cluster.bucket[{bucket}].settings!write' } as const;
  const server = await serve([echo({ method: 'POST', path: '/buckets/:bucket', access })]);
  const answer = await server.inject({
    method: 'POST',
    url: '/buckets/travel',
    headers: basic('viewer', 'right'),
  });
  assert.equal(answer.statusCode, 403);
  assert.deepEqual(answer.json(), {
    message: 'Forbidden. User needs the following permissions',
    permissions: ['cluster.bucket[travel].settings!write'],
  });
});

test('the server checks only the roles of a route that names roles', async () => {
  const access = { kind: 'roles', roles: ['admin'], permission: 'cluster.settings!read' } as const;
  const server = await serve([echo({ method: 'GET', path: '/s', access })]);
  const status = async (name: string) =>
    (await server.inject({ method: 'GET', url: '/s', headers: basic(name, 'right') })).statusCode;
  assert.equal(await status('admin'), 200);
  assert.equal(await status('viewer'), 403);
});

test('the server refuses to start with a route that names a parameter which its path does not have', async () => {
  const misspelt = [
    { kind: 'permission', permission: 'cluster.bucket[{bukcet}].settings!read' },
    { kind: 'roles', roles: ['bucket_admin[{bukcet}]'], permission: 'cluster.settings!read' },
    { kind: 'permission', permission: 'cluster.bucket.settings!read' },
  ] as const;
  for (const access of misspelt) {
    await assert.rejects(serve([echo({ method: 'GET', path: '/buckets/:bucket', access })]), /route GET/);
  }
});

test('the server checks access, then the bucket, then its uuid, then the cluster uuid', async (t) => {
  const access = { kind: 'permission', permission: 'cluster.bucket[{bucket}].settings!write' } as const;
  const server = await serve([echo({ method: 'POST', path: '/buckets/:bucket', access })]);
  const table = [
    ['nobody', 'gone?uuid=x', 401, ''],
    ['viewer', 'gone?uuid=x', 403, /Forbidden/],
    ['admin', 'gone?uuid=x', 404, 'Requested resource not found.\r\n'],
    ['admin', 'travel?bucket_uuid=x&uuid=x', 404, 'Bucket uuid does not match the requested.\r\n'],
    ['admin', 'travel?bucket_uuid=b1&uuid=x', 404, 'Cluster uuid does not match the requested.\r\n'],
    ['admin', 'travel?bucket_uuid=b1&uuid=c1', 200, /./],
  ] as const;
  t.plan(table.length * 2);
  for (const [name, rest, status, text] of table) {
    const headers = basic(name, name === 'nobody' ? 'wrong' : 'right');
    const answer = await server.inject({ method: 'POST', url: `/buckets/${rest}`, headers });
    t.assert.equal(answer.statusCode, status, rest);
    if (typeof text === 'string') t.assert.equal(answer.body, text);
    else t.assert.match(answer.body, text);
  }
});

test('before provisioning only the routes declared for that are open, with any Authorization header', async () => {
  const server = await serve(
    [
      echo({ method: 'GET', path: '/open', access: { kind: 'authenticated' }, openBeforeProvisioning: true }),
      echo({ method: 'GET', path: '/closed' }),
    ],
    { provisioned: false },
  );
  const status = async (url: string, headers = {}) =>
    (await server.inject({ method: 'GET', url, headers })).statusCode;
  assert.equal(await status('/open'), 200);
  assert.equal(await status('/open', basic('anyone', 'wrong')), 200);
  assert.equal(await status('/closed'), 401);
  assert.equal(await status('/closed', basic('admin', 'right')), 401);
});

test('the server refuses changes that a browser sends for another site, also with credentials', async () => {
  let changes = 0;
  const change = bind(
    route({ method: 'POST', path: '/change', access: { kind: 'permission', permission: 'cluster.a!write' } }),
    () => {
      changes++;
      return reply.empty();
    },
  );
  const server = await serve([change, echo({ method: 'GET', path: '/read' })]);
  const send = async (method: 'GET' | 'POST', url: string, headers: Record<string, string>) =>
    await server.inject({
      method,
      url,
      headers: { host: 'node:8091', ...headers, ...basic('admin', 'right') },
    });
  const refused = await send('POST', '/change', { origin: 'https://evil.example' });
  assert.deepEqual([refused.statusCode, changes], [403, 0]);
  assert.match(refused.body, /https:\/\/evil\.example/);
  assert.equal((await send('POST', '/change', { origin: 'http://node:8091' })).statusCode, 200);
  assert.equal((await send('POST', '/change', {})).statusCode, 200);
  assert.equal(changes, 2);
  assert.equal((await send('GET', '/read', { origin: 'https://evil.example' })).statusCode, 200);
});

const refusals = defineRefusals('test', {
  fields: { as: 'fields' },
  list: { as: 'list' },
  text: { status: 409, as: 'text', text: '{reason}' },
  json: { status: 404, as: 'json', text: 'Unknown user.' },
  absent: { status: 501, as: 'text', text: 'no' },
});

test('errors are rendered by their shape, and bugs as 500 without their text', async () => {
  const failing = (path: string, error: () => Error) =>
    bind(route({ method: 'GET', path }), () => {
      throw error();
    });
  const server = await serve([
    failing('/fields', () => refusals.fields({ a: 'bad' })),
    failing('/list', () => refusals.list(['one'])),
    failing('/text', () => refusals.text({ reason: 'no' })),
    failing('/json', () => refusals.json()),
    failing('/bug', () => new Error('secret detail')),
    failing('/full', () => new UnwritableError('the disk is full')),
    bind(route({ method: 'GET', path: '/unsendable' }), () => reply.json(1n)),
  ]);
  const get = async (url: string) => {
    const answer = await server.inject({ method: 'GET', url });
    return [answer.statusCode, answer.body];
  };
  assert.deepEqual(await get('/fields'), [400, '{"errors":{"a":"bad"}}']);
  assert.deepEqual(await get('/list'), [400, '["one"]']);
  assert.deepEqual(await get('/text'), [409, 'no']);
  assert.deepEqual(await get('/json'), [404, '"Unknown user."']);
  assert.deepEqual(await get('/bug'), [500, '["Unexpected server error, request logged."]']);
  assert.deepEqual(await get('/full'), [500, '["the disk is full"]']);
  assert.deepEqual(await get('/unsendable'), [500, '["Unexpected server error, request logged."]']);
});

test('the server logs bugs as errors, and unavailable features as warnings', async () => {
  const logged: unknown[] = [];
  const note = (level: string) => (event: string, fields?: Record<string, unknown>) =>
    void (event === 'request' && logged.push([level, fields?.status]));
  const server = await serve(
    [
      bind(route({ method: 'GET', path: '/missing' }), () => {
        throw refusals.absent();
      }),
      bind(route({ method: 'GET', path: '/bug' }), () => {
        throw new Error();
      }),
    ],
    { log: { ...silentLog, error: note('error'), warn: note('warn') } },
  );
  await server.inject({ method: 'GET', url: '/missing' });
  await server.inject({ method: 'GET', url: '/bug' });
  assert.deepEqual(logged, [
    ['warn', 501],
    ['error', 500],
  ]);
});

test('the server tolerates an empty Connection header and a POST without Content-Length', async () => {
  const server = await serve([echo({ method: 'POST', path: '/f', bodyKind: 'form' })]);
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const answer = await raw(
    port,
    'POST /f?x=[1] HTTP/1.1\r\nHost: x\r\nconnection: \r\ncontent-type: application/x-www-form-urlencoded\r\n\r\n',
    /\}$/,
  );
  assert.match(answer, /^HTTP\/1.1 200 /);
  assert.match(answer, /"query":\{"x":"\[1\]"\},"body":\{\}/);
  assert.match(await raw(port, 'rubbish\r\n\r\n'), /^HTTP\/1.1 400 /);
  assert.match(await raw(port, `GET / HTTP/1.1\r\nA: ${'x'.repeat(70_000)}\r\n\r\n`), /^HTTP\/1.1 431 /);
  await server.stop(1000);
});

test('the server streams values until the client closes the connection', async () => {
  const ended = Promise.withResolvers<void>();
  async function* count(signal: AbortSignal) {
    yield { n: 1 };
    yield { n: 2 };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    ended.resolve();
  }
  const server = await serve([bind(route({ method: 'GET', path: '/s' }), () => reply.stream(count))]);
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const answer = await raw(port, 'GET /s HTTP/1.1\r\nHost: x\r\n\r\n', /"n":2\}\n\n\n\n/);
  assert.match(answer, /transfer-encoding: chunked/i);
  assert.match(answer, /\{"n":1\}\n\n\n\n/);
  await ended.promise;
  await server.stop(1000);
});

test('a server that stops ends open streams without waiting until the deadline', {
  timeout: 120_000,
}, async () => {
  async function* forever(signal: AbortSignal) {
    yield 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }
  // The deadline never comes: a server that waited for it would not stop.
  const deadlineMs = 60_000;
  const clock: Clock = {
    ...realClock,
    after: (ms, act) => (ms === deadlineMs ? { cancel: () => {} } : realClock.after(ms, act)),
  };
  const stream = bind(route({ method: 'GET', path: '/s' }), () => reply.stream(forever));
  const server = await serve([stream], { clock });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /s HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  await server.stop(deadlineMs);
  socket.destroy();
});

test('the values of a stream are produced only as fast as a slow client reads them', async () => {
  let accepted = 0;
  const big = 'x'.repeat(100_000);
  async function* endless() {
    for (;;) {
      accepted++;
      yield big;
    }
  }
  const server = await serve([bind(route({ method: 'GET', path: '/s' }), () => reply.stream(endless))]);
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /s HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('readable', resolve));
  let before = -1;
  for (let turn = 0; turn < 200 && before !== accepted; turn++) {
    before = accepted;
    await realClock.sleep(20);
  }
  assert.ok(before === accepted && accepted < 1000, `${accepted} values taken for a client that reads none`);
  socket.destroy();
  await server.stop(1000);
});

/** Sends bytes; returns what the server sends until the pattern matches or the server closes the connection. */
function raw(port: number, request: string, until?: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!until?.test(text.replace(/\r\n[0-9a-f]+\r\n/g, ''))) return;
      socket.destroy();
      resolve(text);
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

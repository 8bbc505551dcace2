// CURL() with servers of its own. They are on this machine, which no call may reach, so tests replace the rule about addresses.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { SqlError, sqlError } from '#sqlpp/errors/sql-error.ts';
import type { StatementMemory } from '#sqlpp/run/held-memory.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { valueOfJson } from '../request/value-of-json.ts';
import { CurlFunction, curlBytesMax, curlCallsMax } from './curl-function.ts';
import { type HttpCallOptions, httpCall } from './http-call.adapter.ts';
import { Lookups, type Resolve } from './lookups.adapter.ts';

let requests = 0;
const answers: Readonly<Record<string, RequestListener>> = {
  '/echo': (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => response.end(JSON.stringify({ method: request.method, url: request.url, body })));
  },
  '/header': (request, response) => response.end(JSON.stringify(request.headers['x-own'] ?? null)),
  '/text': (_request, response) => response.end('<html>'),
  '/deep': (_request, response) => response.end('['.repeat(200_000) + ']'.repeat(200_000)),
  '/empty': (_request, response) => response.end(),
  '/error': (_request, response) => response.writeHead(500).end('{"failed":true}'),
  '/redirect': (_request, response) => response.writeHead(302, { location: '/echo' }).end('{}'),
  '/large': (_request, response) => response.end(`"${'x'.repeat(100_000)}"`),
  '/cut': (_request, response) => {
    response.writeHead(200, { 'content-length': 10 });
    response.write('{');
    response.socket?.end();
  },
  '/never': () => {},
};
const listener: RequestListener = (request, response) => {
  requests++;
  const [path = ''] = (request.url ?? '').split('?');
  answers[path]?.(request, response);
};
const server = createServer(listener);
let secure: Server;
let authority = '';

async function listen(on: Server): Promise<number> {
  on.listen(0, '127.0.0.1');
  await once(on, 'listening');
  return (on.address() as AddressInfo).port;
}
const portOf = (of: Server): number => (of.address() as AddressInfo).port;

before(async () => {
  const { certificate, key } = await makeCertificate();
  authority = certificate;
  secure = createTlsServer({ cert: certificate, key }, listener);
  await listen(server);
  await listen(secure);
});
after(() => {
  for (const each of [server, secure]) {
    each.closeAllConnections();
    each.close();
  }
});

interface Rules extends Partial<Omit<HttpCallOptions, 'take'>> {
  readonly allowed?: readonly string[];
  readonly disallowed?: readonly string[];
  readonly resolve?: Resolve;
}

/** Without `refuses`, calls follow a node's rule about addresses. */
function aFunction(
  { allowed, disallowed = [], resolve, ...options }: Rules = { refuses: () => false },
): CurlFunction {
  return new CurlFunction({
    allowlist: () => ({
      all_access: allowed === undefined,
      allowed_urls: allowed ?? [],
      disallowed_urls: disallowed,
    }),
    send: (request, signal, take) =>
      httpCall(request, signal, {
        clock: new ManualClock(),
        lookups: new Lookups(resolve),
        ...options,
        take,
      }),
    userAgent: () => 'test',
  });
}

const noQuota: StatementMemory = { hold: () => {}, release: () => {} };

async function call(
  path: string,
  options: object = {},
  { of = aFunction(), signal = new AbortController().signal, memory = noQuota } = {},
): Promise<unknown> {
  const address = path.startsWith('/') ? `http://127.0.0.1:${portOf(server)}${path}` : path;
  const value = await of.call([address, valueOfJson(JSON.stringify(options))], signal, memory);
  return value === undefined ? undefined : JSON.parse(jsonText(value));
}

const isError = (text: RegExp) => (error: Error) => {
  assert.ok(error instanceof SqlError && error.code === 5010, String(error));
  assert.match(error.message, /^Error evaluating CURL\(\): /);
  assert.match(error.message, text);
  return true;
};

test('a call answers the JSON of the server, whatever its status', async () => {
  assert.deepEqual(await call('/echo?a=1'), { method: 'GET', url: '/echo?a=1', body: '' });
  assert.deepEqual(await call('/echo', { data: ['a=1', 'b=ü'] }), {
    method: 'POST',
    url: '/echo',
    body: 'a=1&b=ü',
  });
  assert.deepEqual(await call('/echo', { get: true, data: 'a=1' }), {
    method: 'GET',
    url: '/echo?a=1',
    body: '',
  });
  assert.equal(await call('/header', { header: 'X-Own: 5' }), '5');
  assert.deepEqual(await call('/error'), { failed: true });
  assert.equal(await call('/empty'), null);
  const own = aFunction();
  const { signal } = new AbortController();
  assert.deepEqual(
    [
      await own.call([undefined], signal, noQuota),
      await own.call([null], signal, noQuota),
      await own.call(['x', 5], signal, noQuota),
    ],
    [undefined, null, null],
  );
});

test('an answer that is no JSON, too large, incomplete or elsewhere is an error, or NULL if errors are not shown', async () => {
  for (const [path, text, options] of [
    ['/text', /Invalid JSON endpoint http:\/\/127\.0\.0\.1:\d+\/text/],
    ['/deep', /the answer: JSON is at most 2000 levels deep/],
    ['/redirect', /redirects to another address/],
    ['/large', /more than 99999 bytes/, { 'result-cap': 99_999 }],
    ['/cut', /the connection failed|closed the connection/],
    ['http://127.0.0.1:1/', /the connection failed: ECONNREFUSED/],
  ] as const) {
    await assert.rejects(call(path, options), isError(text), path);
    assert.equal(await call(path, { ...options, 'show-error': false }), null, path);
  }
  assert.equal((await call('/large', { 'result-cap': 100_002 }))?.toString().length, 100_000);
});

test('only what the allowlist permits is read, also with errors that are not shown', async () => {
  const port = portOf(server);
  const allowed = [`http://127.0.0.1:${port}/echo`];
  const disallowed = [`http://127.0.0.1:${port}/echo?a=2`];
  const of = aFunction({ refuses: () => false, allowed, disallowed });
  assert.ok(await call('/echo?a=1', {}, { of }));
  const before = requests;
  for (const name of ['data', 'data-urlencode'])
    await assert.rejects(
      call('/echo', { get: true, [name]: 'a=2' }, { of }),
      isError(/end point .* is not permitted/),
    );
  for (const options of [{}, { silent: true }])
    await assert.rejects(call('/text?password=x', options, { of }), (error: Error) => {
      assert.doesNotMatch(error.message, /password/);
      return isError(/The end point http:\/\/127\.0\.0\.1:\d+\/text is not permitted/)(error);
    });
  await assert.rejects(call('file:///etc/passwd', {}, { of }), isError(/http or https/));
  assert.equal(requests, before);
});

test('no call reaches this machine, by its addresses or by a name that resolves to one, at any time', async () => {
  const of = aFunction({});
  const port = portOf(server);
  const before = requests;
  for (const host of [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '2130706433',
    '0x7f.1',
  ])
    await assert.rejects(
      call(`http://${host}:${port}/echo`, {}, { of }),
      isError(/its address is forbidden: it belongs to this machine/),
      host,
    );
  let lookups = 0;
  // A name that resolves to an address of this machine the second time.
  const resolve: Resolve = (_name, _options, done) => {
    lookups++;
    const address = lookups === 1 ? '203.0.113.1' : '127.0.0.1';
    done(null, [{ address, family: 4 }]);
  };
  const rebinding = aFunction({ resolve });
  const ending = new AbortController();
  const first = call(`http://rebound.example:${port}/echo`, {}, { of: rebinding, signal: ending.signal });
  await eventually(() => assert.equal(lookups, 1));
  ending.abort(new Error('cancelled'));
  await assert.rejects(first, /cancelled|the connection failed/);
  await assert.rejects(
    call(`http://rebound.example:${port}/echo`, {}, { of: rebinding }),
    isError(/its address is forbidden: it belongs to this machine/),
  );
  assert.equal(requests, before);
});

test('a name that does not resolve fails the call alone', async () => {
  const notFound = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
  // As dns.lookup: later, and with the error as the only argument.
  const resolve: Resolve = (_name, _options, done) => void setImmediate(done, notFound);
  const of = aFunction({ resolve });
  await assert.rejects(
    call('http://nosuch.invalid/', {}, { of }),
    isError(/the connection failed: ENOTFOUND/),
  );
  assert.equal(await call('http://nosuch.invalid/', { silent: true }, { of }), null);
});

test('a look-up counts until it answers, even when its call has ended', async () => {
  const lookups = new Lookups((_name, _options, done) => void pending.push(done));
  const pending: Parameters<Resolve>[2][] = [];
  const of = aFunction({ lookups });
  const ending = new AbortController();
  const read = (name: string) => call(`http://${name}.invalid/`, {}, { of, signal: ending.signal });
  const calls = ['a', 'b', 'a'].map(read);
  await eventually(() => assert.equal(pending.length, 2));
  ending.abort(new Error('cancelled'));
  for (const each of calls) await assert.rejects(each, /cancelled/);
  await assert.rejects(call('http://c.invalid/', {}, { of }), isError(/more than 2 look-ups of names run/));
  pending[0]?.(null, []);
  const later = call('http://c.invalid/', {}, { of });
  await eventually(() => assert.equal(pending.length, 3));
  pending[2]?.(Object.assign(new Error(), { code: 'ENOTFOUND' }));
  await assert.rejects(later, isError(/the connection failed: ENOTFOUND/));
});

test('a limited number of calls waits for one look-up', () => {
  const lookups = new Lookups(() => {});
  const errors: (string | undefined)[] = [];
  for (let i = 0; i < 65; i++) lookups.find('a.invalid', (error) => errors.push(error?.message));
  assert.deepEqual(errors, ['more than 64 calls wait for the address of a.invalid']);
});

test('certificates are verified', async () => {
  const address = `https://localhost:${portOf(secure)}/echo`;
  const refuses = (): boolean => false;
  await assert.rejects(call(address), isError(/the connection failed: (DEPTH_ZERO_)?SELF_SIGNED/));
  const of = aFunction({ refuses, authority });
  assert.deepEqual(await call(address, {}, { of }), { method: 'GET', url: '/echo', body: '' });
  await assert.rejects(
    call(address.replace('localhost', '127.0.0.1'), {}, { of }),
    isError(/ERR_TLS_CERT_ALTNAME_INVALID/),
  );
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  try {
    await assert.rejects(call(address), isError(/SELF_SIGNED/));
  } finally {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  }
});

test('a call ends at its limit of time, and with its request', async () => {
  const clock = new ManualClock();
  const of = aFunction({ refuses: () => false, clock });
  const reached = requests + 1;
  const limited = call('/never', { 'max-time': 3 }, { of });
  await eventually(() => assert.equal(requests, reached));
  clock.advance(3_000);
  await assert.rejects(limited, isError(/the call took more than 3 seconds/));
  const ending = new AbortController();
  const cancelled = call('/never', { silent: true }, { of, signal: ending.signal });
  await eventually(() => assert.equal(requests, reached + 1));
  ending.abort(new Error('cancelled'));
  await assert.rejects(cancelled, /^Error: cancelled/);
  await assert.rejects(call('/echo', {}, { of, signal: ending.signal }), /^Error: cancelled/);
});

test('the number of calls at the same time has a limit', async () => {
  const of = aFunction();
  const ending = new AbortController();
  const running = Array.from({ length: curlCallsMax }, () =>
    call('/never', {}, { of, signal: ending.signal }),
  );
  await assert.rejects(call('/echo', {}, { of }), isError(/more than 16 calls run/));
  ending.abort(new Error('cancelled'));
  for (const { status } of await Promise.allSettled(running)) assert.equal(status, 'rejected');
  assert.ok(await call('/echo', {}, { of }));
});

test('answers that are read at the same time have a limit of bytes together', async () => {
  const reply = Promise.withResolvers<{ status: number; body: Buffer }>();
  const of = new CurlFunction({
    allowlist: () => ({ all_access: true, allowed_urls: [], disallowed_urls: [] }),
    send: async (_request, _signal, take) => {
      take(curlBytesMax / 2 + 1);
      return await reply.promise;
    },
    userAgent: () => 'test',
  });
  const first = call('/', {}, { of });
  await assert.rejects(call('/', {}, { of }), isError(/the answers to all calls have more than 134217728/));
  reply.resolve({ status: 200, body: Buffer.from('1') });
  assert.equal(await first, 1);
  assert.equal(await call('/', {}, { of }), 1);
});

test('an answer counts several times as memory of its statement before it is parsed', async () => {
  let heldBytes = 0;
  const memory: StatementMemory = {
    hold: (bytes) => {
      heldBytes += bytes;
      if (heldBytes > 500_000) throw sqlError(5500);
    },
    release: (bytes) => (heldBytes -= bytes),
  };
  for (const options of [{}, { silent: true }])
    await assert.rejects(
      call('/large', options, { memory }),
      (error: Error) => error instanceof SqlError && error.code === 5500,
    );
  assert.equal(await call('/header', { header: 'X-Own: 5' }, { memory }), '5');
  assert.equal(heldBytes, 0);
});

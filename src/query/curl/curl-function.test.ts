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
import { memoryQuotaExceeded } from '../../../test/support/sql-errors.ts';
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

interface Rules extends Partial<Omit<HttpCallOptions, 'countBytes'>> {
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
    send: (request, signal, countBytes) =>
      httpCall(request, signal, {
        clock: new ManualClock(),
        lookups: new Lookups(resolve),
        ...options,
        countBytes,
      }),
    userAgent: () => 'test',
  });
}

const noQuota: StatementMemory = { hold: () => {}, release: () => {} };

async function callCurl(
  path: string,
  options: object = {},
  { curl = aFunction(), signal = new AbortController().signal, memory = noQuota } = {},
): Promise<unknown> {
  const address = path.startsWith('/') ? `http://127.0.0.1:${portOf(server)}${path}` : path;
  const value = await curl.call([address, valueOfJson(JSON.stringify(options))], signal, memory);
  return value === undefined ? undefined : JSON.parse(jsonText(value));
}

const isError = (text: RegExp) => (error: Error) => {
  assert.ok(error instanceof SqlError && error.code === 5010, String(error));
  assert.match(error.message, /^Error evaluating CURL\(\): /);
  assert.match(error.message, text);
  return true;
};

test('a call returns the JSON of the answer, for any status', async () => {
  assert.deepEqual(await callCurl('/echo?a=1'), { method: 'GET', url: '/echo?a=1', body: '' });
  assert.deepEqual(await callCurl('/echo', { data: ['a=1', 'b=ü'] }), {
    method: 'POST',
    url: '/echo',
    body: 'a=1&b=ü',
  });
  assert.deepEqual(await callCurl('/echo', { get: true, data: 'a=1' }), {
    method: 'GET',
    url: '/echo?a=1',
    body: '',
  });
  assert.equal(await callCurl('/header', { header: 'X-Own: 5' }), '5');
  assert.deepEqual(await callCurl('/error'), { failed: true });
  assert.equal(await callCurl('/empty'), null);
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
    await assert.rejects(callCurl(path, options), isError(text), path);
    assert.equal(await callCurl(path, { ...options, 'show-error': false }), null, path);
  }
  assert.equal((await callCurl('/large', { 'result-cap': 100_002 }))?.toString().length, 100_000);
});

test('only what the allowlist permits is read, also with errors that are not shown', async () => {
  const port = portOf(server);
  const allowed = [`http://127.0.0.1:${port}/echo`];
  const disallowed = [`http://127.0.0.1:${port}/echo?a=2`];
  const curl = aFunction({ refuses: () => false, allowed, disallowed });
  assert.ok(await callCurl('/echo?a=1', {}, { curl }));
  const before = requests;
  for (const name of ['data', 'data-urlencode'])
    await assert.rejects(
      callCurl('/echo', { get: true, [name]: 'a=2' }, { curl }),
      isError(/end point .* is not permitted/),
    );
  for (const options of [{}, { silent: true }])
    await assert.rejects(callCurl('/text?password=x', options, { curl }), (error: Error) => {
      assert.doesNotMatch(error.message, /password/);
      return isError(/The end point http:\/\/127\.0\.0\.1:\d+\/text is not permitted/)(error);
    });
  await assert.rejects(callCurl('file:///etc/passwd', {}, { curl }), isError(/http or https/));
  assert.equal(requests, before);
});

test('no call reaches this machine, by its addresses or by a name that resolves to one of them, at any time', async () => {
  const curl = aFunction({});
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
      callCurl(`http://${host}:${port}/echo`, {}, { curl }),
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
  const first = callCurl(
    `http://rebound.example:${port}/echo`,
    {},
    { curl: rebinding, signal: ending.signal },
  );
  await eventually(() => assert.equal(lookups, 1));
  ending.abort(new Error('cancelled'));
  await assert.rejects(first, /cancelled|the connection failed/);
  await assert.rejects(
    callCurl(`http://rebound.example:${port}/echo`, {}, { curl: rebinding }),
    isError(/its address is forbidden: it belongs to this machine/),
  );
  assert.equal(requests, before);
});

test('a name that does not resolve fails the call alone', async () => {
  const notFound = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
  // As dns.lookup: later, and with the error as the only argument.
  const resolve: Resolve = (_name, _options, done) => void setImmediate(done, notFound);
  const curl = aFunction({ resolve });
  await assert.rejects(
    callCurl('http://nosuch.invalid/', {}, { curl }),
    isError(/the connection failed: ENOTFOUND/),
  );
  assert.equal(await callCurl('http://nosuch.invalid/', { silent: true }, { curl }), null);
});

test('a look-up counts until it answers, even when its call has ended', async () => {
  const lookups = new Lookups((_name, _options, done) => void pending.push(done));
  const pending: Parameters<Resolve>[2][] = [];
  const curl = aFunction({ lookups });
  const ending = new AbortController();
  const read = (name: string) => callCurl(`http://${name}.invalid/`, {}, { curl, signal: ending.signal });
  const calls = ['a', 'b', 'a'].map(read);
  await eventually(() => assert.equal(pending.length, 2));
  ending.abort(new Error('cancelled'));
  for (const each of calls) await assert.rejects(each, /cancelled/);
  await assert.rejects(
    callCurl('http://c.invalid/', {}, { curl }),
    isError(/more than 2 look-ups of names run/),
  );
  pending[0]?.(null, []);
  const later = callCurl('http://c.invalid/', {}, { curl });
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
  await assert.rejects(callCurl(address), isError(/the connection failed: (DEPTH_ZERO_)?SELF_SIGNED/));
  const curl = aFunction({ refuses, authority });
  assert.deepEqual(await callCurl(address, {}, { curl }), { method: 'GET', url: '/echo', body: '' });
  await assert.rejects(
    callCurl(address.replace('localhost', '127.0.0.1'), {}, { curl }),
    isError(/ERR_TLS_CERT_ALTNAME_INVALID/),
  );
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  try {
    await assert.rejects(callCurl(address), isError(/SELF_SIGNED/));
  } finally {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  }
});

test('a call ends at its limit of time, and with its request', async () => {
  const clock = new ManualClock();
  const curl = aFunction({ refuses: () => false, clock });
  const reached = requests + 1;
  const limited = callCurl('/never', { 'max-time': 3 }, { curl });
  await eventually(() => assert.equal(requests, reached));
  clock.advance(3_000);
  await assert.rejects(limited, isError(/the call took more than 3 seconds/));
  const ending = new AbortController();
  const cancelled = callCurl('/never', { silent: true }, { curl, signal: ending.signal });
  await eventually(() => assert.equal(requests, reached + 1));
  ending.abort(new Error('cancelled'));
  await assert.rejects(cancelled, /^Error: cancelled/);
  await assert.rejects(callCurl('/echo', {}, { curl, signal: ending.signal }), /^Error: cancelled/);
});

test('the number of calls at the same time has a limit', async () => {
  const curl = aFunction();
  const ending = new AbortController();
  const running = Array.from({ length: curlCallsMax }, () =>
    callCurl('/never', {}, { curl, signal: ending.signal }),
  );
  await assert.rejects(callCurl('/echo', {}, { curl }), isError(/more than 16 calls run/));
  ending.abort(new Error('cancelled'));
  for (const { status } of await Promise.allSettled(running)) assert.equal(status, 'rejected');
  assert.ok(await callCurl('/echo', {}, { curl }));
});

test('answers that are read at the same time have a limit of bytes together', async () => {
  const reply = Promise.withResolvers<{ status: number; body: Buffer }>();
  const curl = new CurlFunction({
    allowlist: () => ({ all_access: true, allowed_urls: [], disallowed_urls: [] }),
    send: async (_request, _signal, countBytes) => {
      countBytes(curlBytesMax / 2 + 1);
      return await reply.promise;
    },
    userAgent: () => 'test',
  });
  const first = callCurl('/', {}, { curl });
  await assert.rejects(
    callCurl('/', {}, { curl }),
    isError(/the answers to all calls have more than 134217728/),
  );
  reply.resolve({ status: 200, body: Buffer.from('1') });
  assert.equal(await first, 1);
  assert.equal(await callCurl('/', {}, { curl }), 1);
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
    await assert.rejects(callCurl('/large', options, { memory }), memoryQuotaExceeded);
  assert.equal(await callCurl('/header', { header: 'X-Own: 5' }, { memory }), '5');
  assert.equal(heldBytes, 0);
});

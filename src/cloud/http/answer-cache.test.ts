import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { Caller } from '../access/caller.ts';
import { invalid } from '../answers/api-error.ts';
import { StoreVersions } from '../store/state.ts';
import { createApi } from './api.ts';
import { bind, defineOperation } from './operation.ts';

const replies = { 200: { doc: 'The number of computed answers', body: z.number() } };
const common = { method: 'GET', doc: 'Counts.', access: 'token', replies } as const;

function anApi() {
  const backend = { state: 'a', answers: 0, fails: false };
  const versions = new StoreVersions({ read: () => backend.state });
  const caller = new Caller({ tokenId: 't', role: 'reader', projectId: null, expiresAt: null });
  const answer = async () => {
    if (backend.fails) throw invalid('not now');
    return { status: 200, body: ++backend.answers };
  };
  const api = createApi({
    clock: realClock,
    operations: [
      bind(defineOperation({ ...common, id: 'cached', path: '/cached', fromStore: true }), answer),
      bind(defineOperation({ ...common, id: 'fresh', path: '/fresh' }), answer),
    ],
    find: () => Promise.resolve(undefined),
    authenticate: async () => ({ caller, version: await versions.current() }),
    log: silentLog,
  });
  const get = async (url: string) => (await api.inject({ url })).json();
  return { backend, api, get };
}

test('the cache of answers computes a cacheable answer once for each version of the store, and other answers each time', async () => {
  const { backend, get } = anApi();
  assert.deepEqual([await get('/fresh'), await get('/fresh')], [1, 2]);
  assert.deepEqual([await get('/cached'), await get('/cached')], [3, 3]);
  assert.equal(await get('/cached?x=1'), 4);
  backend.state = 'b';
  assert.deepEqual([await get('/cached'), await get('/cached')], [5, 5]);
  assert.deepEqual(await Promise.all([get('/cached?y'), get('/cached?y'), get('/cached?y')]), [6, 6, 6]);
});

test('the cache of answers does not cache refusals', async () => {
  const { backend, get } = anApi();
  backend.fails = true;
  assert.equal((await get('/cached')).errorType, 'ValidationError');
  backend.fails = false;
  assert.equal(await get('/cached'), 1);
});

test('the cache of answers sends a cached answer with the same bytes as a computed answer', async () => {
  const { api } = anApi();
  const headersOf = async (method: 'GET' | 'HEAD') => {
    const { statusCode, body, headers } = await api.inject({ method, url: '/cached' });
    return [statusCode, body, headers['content-type'], headers['content-length']];
  };
  const first = await headersOf('GET');
  assert.deepEqual(first, [200, '1', 'application/json', '1']);
  assert.deepEqual(await headersOf('GET'), first);
  assert.deepEqual(await headersOf('HEAD'), [200, '', 'application/json', '1']);
});

test('the cache of answers does not send links with an address that another client used', async () => {
  const versions = new StoreVersions({ read: () => 'a' });
  const caller = new Caller({ tokenId: 't', role: 'reader', projectId: null, expiresAt: null });
  const answers = { 200: { doc: 'Its own URL', body: z.string() } };
  const operation = defineOperation({
    ...common,
    id: 'own',
    path: '/own',
    replies: answers,
    fromStore: true,
  });
  let localAddress = '';
  const api = createApi({
    clock: realClock,
    operations: [bind(operation, async ({ url }) => ({ status: 200, body: url.href }))],
    find: () => Promise.resolve(undefined),
    authenticate: async ({ raw: { socket } }) => {
      Object.assign(socket, { localAddress, localPort: 8080 });
      return { caller, version: await versions.current() };
    },
    log: silentLog,
  });
  for (localAddress of ['127.0.0.1', '10.0.0.5', '127.0.0.1']) {
    const answer = await api.inject({ url: '/own?page=1', headers: { host: 'db.example.com:8080' } });
    assert.equal(answer.json(), `http://${localAddress}:8080/own?page=1`);
  }
});

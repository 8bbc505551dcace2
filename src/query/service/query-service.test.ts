import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { eventually } from '../../../test/support/node-process.ts';
import { aQueryService, originOf } from '../../../test/support/query-service.ts';
import { answerAdmin } from '../admin/admin.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('an answer has its members in the published order, one row per line', async () => {
  const { answerOf } = aQueryService();
  const { text, status, metrics } = await answerOf({ statement: 'ROWS 2', client_context_id: 'c' });
  assert.equal(status, 'success');
  const names = [...text.matchAll(/^"(\w+)":/gm)].map(([, name]) => name);
  assert.deepEqual(names, ['requestID', 'clientContextID', 'signature', 'results', 'status', 'metrics']);
  assert.match(text, /"results": \[\n\{"n":0\},\n\{"n":1\}\n\],/);
  assert.deepEqual([metrics?.['resultCount'], metrics?.['resultSize']], [2, 14]);
});

test('an answer omits members that are switched off, and is indented with pretty', async () => {
  const { answerOf } = aQueryService();
  const bare = await answerOf({ statement: 'ROWS 1', metrics: false, signature: false });
  assert.deepEqual(Object.keys(JSON.parse(bare.text)), ['requestID', 'results', 'status']);
  const { text } = await answerOf({ statement: 'ROWS 1', pretty: true });
  assert.match(text, /\n {4}"results": \[\n {8}\{\n {12}"n": 0\n {8}\}\n {4}\],\n/);
  const { profile, controls } = await answerOf({ statement: 'ROWS 1', profile: 'timings', controls: true });
  assert.deepEqual(Object.keys(profile ?? {}).slice(0, 3), ['phaseTimes', 'phaseCounts', 'phaseOperators']);
  const timings = profile?.['executionTimings'] as { '~child'?: { '~children'?: unknown[] } } | undefined;
  assert.deepEqual(timings?.['~child']?.['~children'], [
    { '#operator': 'Fake' },
    { '#operator': 'Stream', '#stats': { '#itemsIn': 1, '#itemsOut': 1 } },
  ]);
  assert.equal(controls?.['scan_consistency'], 'not_bounded');
});

test('only an error before the first row decides the status', async () => {
  const { ask } = aQueryService();
  const statusOf = async (statement: string) => {
    const { sink, done } = ask({ statement });
    await done;
    const { status, errors, results } = sink.answer;
    return [sink.status, status, errors?.[0]?.code, results?.length];
  };
  assert.deepEqual(await statusOf('SYNTAX'), [400, 'fatal', 3000, undefined]);
  assert.deepEqual(await statusOf('FAIL 4000'), [404, 'fatal', 4000, undefined]);
  assert.deepEqual(await statusOf('FAIL 4300'), [409, 'fatal', 4300, undefined]);
  assert.deepEqual(await statusOf('FAIL 12015'), [500, 'fatal', 12015, undefined]);
  assert.deepEqual(await statusOf('SOME 12009'), [200, 'errors', 12009, 1]);
});

test('an internal error shows no details', async () => {
  const { answerOf } = aQueryService();
  const { errors, text } = await answerOf({ statement: 'BUG' });
  assert.equal(errors?.[0]?.code, 5000);
  assert.doesNotMatch(text, /secret/);
});

test('the service checks wrong, missing and additional credentials', async () => {
  const { answerOf } = aQueryService();
  const codeOf = async (fields: object, user: string, password = 'password') =>
    (await answerOf({ statement: 'CLOSED', ...fields }, { user, password })).errors?.[0]?.code;
  assert.equal(await codeOf({}, ''), 10000);
  assert.equal(await codeOf({}, 'admin', 'wrong'), 10000);
  assert.equal(await codeOf({}, 'nobody'), 13014);
  assert.equal(await codeOf({}, 'admin'), undefined);
  assert.equal(await codeOf({ creds: [{ user: 'admin', pass: 'password' }] }, 'nobody'), undefined);
  assert.equal(await codeOf({ creds: [{ user: 'admin', pass: 'wrong' }] }, 'admin'), 10000);
  const { errors } = await answerOf({ statement: 'CLOSED' }, { user: 'nobody' });
  assert.equal(
    errors?.[0]?.msg,
    'User does not have credentials to run SELECT queries on default:b. Add role query_select on default:b to allow the statement to run.',
  );
});

test('a read-only request changes nothing', async () => {
  const { answerOf } = aQueryService();
  const refused = await answerOf({ statement: 'WRITE', readonly: true });
  assert.equal(refused.errors?.[0]?.code, 1000);
  const { metrics } = await answerOf({ statement: 'WRITE' });
  assert.equal(metrics?.['mutationCount'], 1);
});

test('the community edition begins no transaction, also none for a single statement', async () => {
  const { answerOf } = aQueryService({}, 'community');
  const { errors } = await answerOf({ statement: 'ROWS 1', tximplicit: true });
  assert.deepEqual(
    [errors?.[0]?.code, errors?.[0]?.msg],
    [17097, 'Transactions are not supported in Community Edition'],
  );
  assert.equal((await answerOf({ statement: 'ROWS 1' })).errors, undefined);
});

test('rows are sent while a statement waits; it ends at its timeout, and its answer reports the timeout', async () => {
  const { ask, clock, service } = aQueryService();
  const { sink, done } = ask({ statement: 'WAIT', timeout: '75s' });
  await eventually(() => assert.equal(service.active.all()[0]?.rows.count, 1));
  clock.advance(9);
  assert.equal(sink.text, '');
  clock.advance(1);
  assert.match(sink.text, /"results": \[\n\{"n":1\}$/);
  clock.advance(74_989);
  await turn();
  assert.equal(sink.isEnded, false);
  clock.advance(1);
  await done;
  const { status, errors, results } = sink.answer;
  assert.deepEqual([sink.status, status, results?.length], [200, 'timeout', 1]);
  assert.deepEqual([errors?.[0]?.code, errors?.[0]?.msg], [1080, 'Timeout 1m15s exceeded']);
  assert.equal(service.active.count, 0);
});

test('the timeout of the service applies when it is shorter', async () => {
  const { ask, clock, service } = aQueryService({ timeoutMs: 1000 });
  const { sink, done } = ask({ statement: 'WAIT', timeout: '1h' });
  await eventually(() => assert.equal(service.active.all()[0]?.rows.count, 1));
  clock.advance(1000);
  await done;
  assert.equal(sink.answer.status, 'timeout');
});

test('a request is cancelled by its id, and when its client disconnects', async () => {
  const { ask, service, answerOf } = aQueryService();
  const { sink, done } = ask({ statement: 'WAIT' });
  await eventually(() => assert.equal(service.active.all()[0]?.rows.count, 1));
  const path = `/admin/active_requests/${service.active.all()[0]?.id}`;
  const answer = await answerAdmin(
    service,
    { method: 'DELETE', path, body: '' },
    originOf('admin', 'password'),
  );
  assert.equal(answer.status, 200);
  await done;
  assert.equal(sink.answer.status, 'stopped');
  const disconnected = ask({ statement: 'WAIT' });
  await eventually(() => assert.equal(service.active.count, 1));
  disconnected.close();
  await disconnected.done;
  assert.equal(disconnected.sink.isEnded, false);
  assert.equal((await answerOf({ statement: 'ROWS 1' })).status, 'success');
});

test('the service runs a limited number of requests, queues the next, and refuses more with a retryable error', async () => {
  const { ask, service, answerOf } = aQueryService({ servicers: 2, queueLimit: 1 });
  const running = [ask({ statement: 'WAIT' }), ask({ statement: 'WAIT' })];
  await eventually(() =>
    assert.deepEqual(
      service.active.all().map(({ rows }) => rows.count),
      [1, 1],
    ),
  );
  const waiting = ask({ statement: 'ROWS 1' });
  await eventually(() => assert.equal(service.admission.queued, 1));
  const { sink, done } = ask({ statement: 'ROWS 1' });
  await done;
  assert.deepEqual(
    [sink.status, sink.answer.errors?.[0]?.code, sink.answer.errors?.[0]?.retry],
    [503, 1182, true],
  );
  running[0]?.close();
  await waiting.done;
  assert.equal(waiting.sink.answer.status, 'success');
  running[1]?.close();
  await Promise.all(running.map((request) => request.done));
  assert.equal((await answerOf({ statement: 'ROWS 1' })).status, 'success');
});

test('requests of other users are accepted while one user takes all places and fills the queue', async () => {
  const { ask, service, answerOf } = aQueryService({ servicers: 2, queueLimit: 1 });
  const many = Array.from({ length: 3 }, () => ask({ statement: 'WAIT' }));
  await eventually(() => assert.equal(service.admission.queued, 1));
  const other = { user: 'nobody' };
  assert.equal((await answerOf({ statement: 'ROWS 1' }, other)).status, 'success');
  const spare = ask({ statement: 'WAIT' }, other);
  await eventually(() => assert.equal(service.active.all().at(-1)?.rows.count, 1));
  const queued = ask({ statement: 'ROWS 1' }, other);
  await eventually(() => assert.equal(service.admission.queued, 2));
  spare.close();
  await queued.done;
  assert.equal(
    queued.sink.answer.status,
    'success',
    'it is next, before a request that has waited for longer',
  );
  assert.equal(service.admission.queued, 1);
  for (const request of many) request.close();
  await Promise.all([...many.map((request) => request.done), spare.done]);
});

test('a statement is prepared by name, runs, and is planned again when definitions change', async () => {
  const { answerOf, engine, keyspaces, service } = aQueryService();
  const { results } = await answerOf({ statement: 'PREPARE p FROM ARGS' });
  const [row] = results as { name: string; encoded_plan: string }[];
  assert.equal(row?.name, 'p');
  const run = (fields: object = {}) => answerOf({ prepared: 'p', args: [1, 'a'], $n: true, ...fields });
  assert.deepEqual((await run()).results, [[1, 'a'], { n: true }]);
  const before = engine.prepares;
  await run();
  assert.equal(engine.prepares, before);
  keyspaces.set([]);
  await run();
  assert.equal(engine.prepares, before + 1);
  assert.equal((await answerOf({ prepared: 'q' })).errors?.[0]?.code, 4040);
  assert.equal((await run({ query_context: 'b.s' })).errors?.[0]?.code, 4040);
  assert.equal((await answerOf({ statement: 'EXECUTE p', args: [2] })).results?.length, 2);
  assert.equal((await answerOf({ statement: 'PREPARE p FROM ROWS 2' })).errors?.[0]?.code, 4060);
  assert.equal(service.prepared.all().length, 1);
});

test('a restarted service recovers a statement from its generated name', async (t) => {
  const first = aQueryService();
  const { prepared: name } = await first.answerOf({
    statement: 'PREPARE _ FROM ARGS',
    auto_execute: true,
    args: [7],
  });
  const restarted = aQueryService();
  t.assert.deepEqual((await restarted.answerOf({ prepared: name, args: [8] })).results?.[0], [8]);
  t.assert.equal(restarted.service.prepared.all().length, 1);
  // The name includes the query context, and other names are not accepted.
  const others = [
    { prepared: name, query_context: 'b.s' },
    { prepared: 'statement:' },
    { prepared: 'statement:AAAA' },
    { prepared: `statement:${deflateRawSync('[1,2]').toString('base64url')}` },
    { prepared: `statement:${deflateRawSync(Buffer.alloc(1 << 20)).toString('base64url')}` },
  ];
  for (const fields of others) t.assert.equal((await restarted.answerOf(fields)).errors?.[0]?.code, 4040);
});

test('the service accepts only encoded plans that it signed', async () => {
  const { answerOf, service } = aQueryService();
  const { results } = await answerOf({ statement: 'PREPARE p FROM ROWS 1' });
  const { encoded_plan } = (results as { encoded_plan: string }[])[0] as { encoded_plan: string };
  assert.ok(service.prepared.remove('p'));
  assert.equal((await answerOf({ prepared: 'q', encoded_plan })).errors?.[0]?.code, 4090);
  assert.equal((await answerOf({ prepared: 'p', encoded_plan: 'AAAA' })).errors?.[0]?.code, 4070);
  assert.equal((await answerOf({ prepared: 'p', encoded_plan })).status, 'success');
  assert.equal(service.prepared.all().length, 1);
});

test('auto_execute prepares and runs in one request', async () => {
  const { answerOf } = aQueryService();
  const answer = await answerOf({ statement: 'PREPARE p FROM ARGS', auto_execute: true, args: [7] });
  assert.deepEqual([answer.prepared, answer.results?.[0], answer.status], ['p', [7], 'success']);
  assert.match(answer.text, /"prepared": "p",\n"signature"/);
  assert.equal((await answerOf({ prepared: 'p', auto_execute: true })).prepared, 'p');
});

test('auto_prepare caches the plan of a text', async () => {
  const { answerOf, engine } = aQueryService();
  for (let round = 0; round < 3; round++) await answerOf({ statement: 'ROWS 1', auto_prepare: true });
  assert.equal(engine.prepares, 1);
});

test('a prepared statement shows its elapsed and service times', async () => {
  const { ask, answerOf, service, clock } = aQueryService({ servicers: 1 });
  await answerOf({ statement: 'PREPARE p FROM WAIT' });
  const shown = async () => {
    const adminRequest = { method: 'GET', path: '/admin/prepareds', body: '' };
    const { text } = await answerAdmin(service, adminRequest, originOf('admin', 'password'));
    return (JSON.parse(text) as Record<string, unknown>[])[0] ?? {};
  };
  const before = await shown();
  assert.deepEqual([before['uses'], before['avgElapsedTime']], [0, undefined]);
  const [first, second] = [ask({ prepared: 'p' }), ask({ prepared: 'p' })];
  await eventually(() => assert.equal(service.active.all()[0]?.rows.count, 1));
  clock.advance(300);
  first.close();
  await first.done;
  await eventually(() => assert.equal(service.active.all()[0]?.rows.count, 1));
  clock.advance(100);
  second.close();
  await second.done;
  const { uses, avgElapsedTime, minElapsedTime, maxElapsedTime, ...after } = await shown();
  assert.deepEqual([uses, avgElapsedTime, minElapsedTime, maxElapsedTime], [2, '350ms', '300ms', '400ms']);
  const { avgServiceTime, minServiceTime, maxServiceTime, lastUse } = after;
  assert.deepEqual([avgServiceTime, minServiceTime, maxServiceTime], ['200ms', '100ms', '300ms']);
  assert.equal(lastUse, new Date(clock.wallMs()).toISOString());
});

test('slow requests are recorded up to a limit, without values of parameters', async () => {
  const { ask, service, clock } = aQueryService({ completedLimit: 2, completedThresholdMs: 500 });
  for (let round = 0; round < 3; round++) {
    const { done, close } = ask({ statement: `WAIT ${round}`, $secret: 'hidden' });
    await eventually(() => assert.equal(service.active.all()[0]?.rows.count, 1));
    clock.advance(600);
    close();
    await done;
  }
  const { text } = await answerAdmin(
    service,
    { method: 'GET', path: '/admin/completed_requests', body: '' },
    originOf('admin', 'password'),
  );
  const rows = JSON.parse(text) as { statement: string; elapsedTime: string; state: string }[];
  assert.deepEqual(
    rows.map(({ statement, elapsedTime, state }) => [statement, elapsedTime, state]),
    [
      ['WAIT 1', '600ms', 'closed'],
      ['WAIT 2', '600ms', 'closed'],
    ],
  );
  assert.doesNotMatch(text, /hidden/);
});

test('settings change completely or not at all, and only by authorized users', async () => {
  const { service } = aQueryService();
  const post = (settings: object, user = 'admin') =>
    answerAdmin(
      service,
      { method: 'POST', path: '/admin/settings', body: JSON.stringify(settings) },
      originOf(user, 'password'),
    );
  const shown = JSON.parse((await post({ 'completed-limit': 5, timeout: '1s' })).text) as Record<
    string,
    unknown
  >;
  assert.deepEqual([shown['completed-limit'], shown['timeout']], [5, 1e9]);
  assert.match((await post({ 'completed-limit': 6, strange: 1 })).text, /"code":2031.*strange/);
  for (const wrong of [{ servicers: 0 }, { cleanupwindow: 'x' }, { txtimeout: '' }, { atrcollection: 'a.b' }])
    assert.match((await post(wrong)).text, /"code":2032/, JSON.stringify(wrong));
  assert.equal(service.deps.settings.completedLimit, 5);
  assert.equal((await post({}, 'nobody')).status, 401);
});

test('the administration requires a login, ping does not', async () => {
  const { service } = aQueryService();
  const get = (path: string, user: string) =>
    answerAdmin(service, { method: 'GET', path, body: '' }, originOf(user, 'password'));
  assert.deepEqual(await get('/admin/ping', ''), { status: 200, text: '{"status":"OK"}' });
  const paths = [
    'vitals',
    'stats',
    'prepareds',
    'active_requests',
    'completed_requests',
    'settings',
    'config',
  ];
  for (const path of [...paths, 'clusters', 'clusters/default/nodes', 'stats/requests', 'tasks_cache']) {
    assert.equal((await get(`/admin/${path}`, 'admin')).status, 200, path);
    assert.equal((await get(`/admin/${path}`, '')).status, 401, path);
    assert.equal((await get(`/admin/${path}`, 'nobody')).status, 401, path);
  }
  assert.equal((await get('/admin/none', 'admin')).status, 404);
  assert.equal((await get('/admin/prepareds/none', 'admin')).status, 404);
});

test('a stopping service ends its requests and refuses new ones', async () => {
  const { ask, service, answerOf } = aQueryService();
  const { sink, done } = ask({ statement: 'WAIT' });
  await eventually(() => assert.equal(service.active.all()[0]?.rows.count, 1));
  service.stop();
  await done;
  assert.equal(sink.answer.errors?.[0]?.code, 1180);
  assert.equal((await answerOf({ statement: 'ROWS 1' })).errors?.[0]?.code, 1180);
});

test('a node that is not active in its cluster sends clients to another node', async () => {
  const { service, answerOf } = aQueryService();
  const node = service.deps.node();
  const nodesOf = (...areThis: boolean[]) =>
    Object.assign(service.deps, {
      node: () => ({
        ...node,
        nodes: areThis.map((isThis) => ({ name: 'n', services: [], ports: {}, isThis })),
      }),
    });
  nodesOf(false, false);
  const [error] = (await answerOf({ statement: 'ROWS 1' })).errors ?? [];
  assert.deepEqual([error?.code, error?.retry], [1181, true]);
  assert.match(error?.msg ?? '', /this node is not active in the cluster/);
  nodesOf(false, true);
  assert.equal((await answerOf({ statement: 'ROWS 1' })).status, 'success');
});

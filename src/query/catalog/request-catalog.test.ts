// The statements are those of the engine for tests (test/support/fake-engine.ts), such as ROWS and WAIT.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/node-process.ts';
import { aQueryService, originOf } from '../../../test/support/query-service.ts';
import { openSession } from '../access/session.ts';
import { answerAdmin } from '../admin/admin.ts';
import { pageForOthers } from './own-rows.ts';
import { RequestCatalog } from './request-catalog.ts';

const execution = { signal: new AbortController().signal };

test('rows of users fail with a reason when the administration API refuses them', async () => {
  const { service } = aQueryService();
  service.deps.rest.request = async () => ({ status: 503, body: '' });
  const session = await openSession(service.deps.authority, originOf('admin', 'password'), []);
  const read = async () => {
    for await (const _rows of new RequestCatalog(service, session).scan('user_info', execution, () => {}));
  };
  await assert.rejects(read, (error: { code?: number; message: string }) => {
    assert.equal(error.code, 11000);
    assert.match(error.message, /the administration API answered 503/);
    return true;
  });
});

test('a scan warns of rows that the user may not see', async () => {
  const { service, keyspaces } = aQueryService();
  const scopes = [
    { name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] },
    { name: 's', uid: '8', collections: [{ name: 'c', uid: '8' }] },
  ];
  keyspaces.set([{ name: 'b', uuid: 'u', incarnation: 0, type: 'membase', scopes }]);
  const seenBy = async (user: string, collection: string) => {
    const session = await openSession(service.deps.authority, originOf(user, 'password'), []);
    const warnings: Error[] = [];
    let seen = 0;
    const warn = (warning: Error) => warnings.push(warning);
    for await (const rows of new RequestCatalog(service, session).scan(collection, execution, warn))
      seen += rows.length;
    return { seen, warnings: warnings.map(({ message }) => message) };
  };
  for (const collection of ['buckets', 'scopes', 'keyspaces']) {
    assert.deepEqual(await seenBy('admin', collection), {
      seen: collection === 'keyspaces' ? 2 : 1,
      warnings: [],
    });
    const { seen, warnings } = await seenBy('somebody', collection);
    assert.equal(seen, 0);
    assert.match(warnings[0] ?? '', new RegExp(`system:${collection} .* query_system_catalog`));
  }
});

test('a bucket whose default collection was dropped is no keyspace', async () => {
  const { service, keyspaces } = aQueryService();
  const bucket = { name: 'b', uuid: 'u', incarnation: 0, type: 'membase' };
  const paths = async (collections: { name: string; uid: string }[]) => {
    const named = [{ name: 'c', uid: '8' }];
    const scopes = [
      { name: '_default', uid: '0', collections },
      { name: 's', uid: '8', collections: named },
    ];
    keyspaces.set([{ ...bucket, scopes }]);
    const session = await openSession(service.deps.authority, originOf('admin', 'password'), []);
    const found: unknown[] = [];
    for await (const rows of new RequestCatalog(service, session).scan('keyspaces', execution, () => {}))
      found.push(...rows.map(({ id }) => id));
    return found;
  };
  assert.deepEqual(await paths([{ name: '_default', uid: '0' }]), ['default:b', 'default:b.s.c']);
  assert.deepEqual(await paths([]), ['default:b.s.c']);
});

test('prepared statements are shown without passwords of CURL(), and with their plan only if it contains none', async () => {
  const { service, ask, answerOf } = aQueryService({ completedThresholdMs: 0 });
  const origin = originOf('admin', 'password');
  const shown = async (what: string) => {
    const { text } = await answerAdmin(service, { method: 'GET', path: `/admin/${what}`, body: '' }, origin);
    assert.doesNotMatch(text, /pl4nted/);
    return JSON.parse(text) as Record<string, unknown>[];
  };
  const [answer] =
    (await answerOf({ statement: 'PREPARE p FROM WAIT {"user": "a:pl4nted"} CURL' })).results ?? [];
  assert.match(JSON.stringify(answer), /encoded_plan.*pl4nted/, 'the sender knows the password');
  const plain = 'PREPARE open FROM ROWS 1 {"user": "ann", "token": "t"}';
  await answerOf({ statement: plain });
  await answerOf({ statement: 'ROWS 1 {"user": "a:pl4nted"} CURL', auto_prepare: true });
  const plans = (await shown('prepareds')).map((row) => [row['statement'], typeof row['encoded_plan']]);
  assert.deepEqual(plans.sort(), [
    [plain, 'string'],
    ['PREPARE p FROM WAIT {"user": "*****"} CURL', 'undefined'],
    ['ROWS 1 {"user": "*****"} CURL', 'undefined'],
  ]);
  const session = await openSession(service.deps.authority, origin, []);
  for await (const rows of new RequestCatalog(service, session).scan('prepareds', execution, () => {}))
    assert.doesNotMatch(JSON.stringify(rows), /pl4nted/);
  const { done, close } = ask({ prepared: 'p' });
  await eventually(() => assert.equal(service.active.all()[0]?.rows.count, 1));
  const [active] = await shown('active_requests');
  assert.equal(active?.['preparedText'], 'PREPARE p FROM WAIT {"user": "*****"} CURL');
  close();
  await done;
  await answerOf({ statement: 'SYNTAX {"user": "a:pl4nted"} CURL' });
  const failed = (await shown('completed_requests')).at(-1);
  assert.deepEqual(failed?.['errors'], [{ code: 3000, msg: 'syntax error - line 1, column 8' }]);
});

test('requests, prepared statements, tasks and transactions of all nodes are shown, and removed from the node that has them', async () => {
  const { service, answerOf } = aQueryService();
  await answerOf({ statement: 'PREPARE p FROM ROWS 1' });
  const nodeOf = (name: string, isThis: boolean) => ({
    name,
    services: ['kv', 'n1ql'],
    ports: { kv: 1 },
    isThis,
  });
  const node = service.deps.node();
  const removed: unknown[] = [];
  Object.assign(service.deps, {
    node: () => ({
      ...node,
      nodes: [nodeOf('n:8091', true), nodeOf('[::1]:8091', false), nodeOf('m:8091', false)],
    }),
    otherNodes: {
      rows: async (keyspace: string) => ({
        nodes: [{ node: '[::1]:8091', rows: [{ id: 'p', value: { name: 'p', keyspace } }], next: null }],
        failed: [{ node: 'm:8091', reason: 'it hangs' }],
      }),
      rowsAfter: () => assert.fail('there is no other page'),
      remove: async (...call: unknown[]) => void removed.push(call),
    },
  });
  const session = await openSession(service.deps.authority, originOf('admin', 'password'), []);
  const catalog = new RequestCatalog(service, session);
  const scan = async (keyspace: string) => {
    const warnings: { code?: number; message: string }[] = [];
    const found: { id: string; value: Record<string, unknown> }[] = [];
    for await (const rows of catalog.scan(keyspace, execution, (warning) => warnings.push(warning)))
      found.push(...(rows as unknown as typeof found));
    return { found, warnings: warnings.map(({ code, message }) => [code, message]) };
  };
  const prepareds = await scan('prepareds');
  assert.deepEqual(
    prepareds.found.map(({ id, value }) => [id, value['name'], value['node']]),
    [
      ['[n:8091]p', 'p', 'n:8091'],
      ['[[::1]:8091]p', 'p', '[::1]:8091'],
    ],
  );
  const text = 'System datastore : scan on system:prepareds failed: node m:8091: it hangs';
  assert.deepEqual(prepareds.warnings, [[11008, text]]);
  for (const keyspace of ['active_requests', 'completed_requests', 'tasks_cache', 'transactions'])
    assert.equal((await scan(keyspace)).found.at(-1)?.value['keyspace'], keyspace);
  assert.deepEqual(
    (await scan('nodes')).found.map(({ id }) => id),
    ['n:8091', '[::1]:8091', 'm:8091'],
  );

  await catalog.remove('prepareds', ['[n:8091]p'], execution);
  assert.equal(service.prepared.all().length, 0);
  assert.deepEqual(removed, []);
  await catalog.remove('prepareds', ['[[::1]:8091]p', '[[::1]:8091]q'], execution);
  assert.deepEqual(removed, [['prepareds', '[::1]:8091', ['p', 'q']]]);
});

test('a statement asks the other nodes once, and once the statement ends it no longer waits for a node that hangs', async () => {
  const { service } = aQueryService();
  const hangs = new Promise<never>(() => {});
  const asked: string[] = [];
  const rows = async (keyspace: string) => {
    asked.push(keyspace);
    return keyspace === 'transactions' ? await hangs : { nodes: [], failed: [] };
  };
  const node = service.deps.node();
  const nodes = ['n:8091', 'm:8091'].map((name) => ({ name, services: ['n1ql'], ports: {}, isThis: false }));
  Object.assign(service.deps, {
    node: () => ({ ...node, nodes }),
    otherNodes: { rows, remove: () => hangs },
  });
  const session = await openSession(service.deps.authority, originOf('admin', 'password'), []);
  const catalog = new RequestCatalog(service, session);
  const ends = new AbortController();
  const scan = async (keyspace: string) => {
    for await (const _rows of catalog.scan(keyspace, ends, () => {}));
  };
  await scan('prepareds');
  await scan('prepareds');
  const waiting = [scan('transactions'), catalog.remove('prepareds', ['[m:8091]p'], ends)];
  ends.abort(new Error('timeout'));
  for (const each of waiting) await assert.rejects(each, /timeout/);
  assert.deepEqual(asked, ['prepareds', 'transactions']);
});

test('rows of another node arrive in pages, and those that were read before the node fails are shown', async () => {
  const [here, there] = [
    aQueryService({ completedThresholdMs: 0 }),
    aQueryService({ completedThresholdMs: 0 }),
  ];
  // A page ends with the row that makes it longer than 1,048,576 characters: it has two of these statements.
  const long = `ROWS 1 /*${'x'.repeat(600_000)}*/`;
  for (let count = 0; count < 5; count++) await there.answerOf({ statement: long });
  const nodes = ['n:8091', 'm:8091'].map((name) => ({ name, services: ['n1ql'], ports: {}, isThis: false }));
  const asked: (string | null)[] = [];
  let failFrom = Number.POSITIVE_INFINITY;
  const page = async (after: string | null) => {
    if (asked.push(after) > failFrom) throw new Error('it went away');
    return pageForOthers(there.service, 'completed_requests', after);
  };
  const node = here.service.deps.node();
  Object.assign(here.service.deps, {
    node: () => ({ ...node, nodes }),
    otherNodes: {
      rows: async () => ({ nodes: [{ node: 'm:8091', ...(await page(null)) }], failed: [] }),
      rowsAfter: (_keyspace: string, _node: string, after: string) => page(after),
    },
  });
  const session = await openSession(here.service.deps.authority, originOf('admin', 'password'), []);
  const scan = async () => {
    const warnings: string[] = [];
    const ids: string[] = [];
    const catalog = new RequestCatalog(here.service, session);
    const warn = ({ message }: Error) => warnings.push(message);
    for await (const rows of catalog.scan('completed_requests', execution, warn))
      ids.push(...rows.map(({ id }) => id));
    return { ids: ids.sort(), warnings };
  };
  const wanted = there.service.completed.all().map(({ active }) => `[m:8091]${active.id}`);
  assert.deepEqual(await scan(), { ids: wanted.sort(), warnings: [] });
  assert.equal(asked.length, 3);
  failFrom = asked.length + 1;
  const { ids, warnings } = await scan();
  assert.deepEqual(ids, wanted.slice(0, 2));
  assert.match(warnings.join(), /scan on system:completed_requests failed: node m:8091: it went away/);
});

test('thousands of rows are made in parts, between which other requests run, and once for a request', async () => {
  const { service, answerOf } = aQueryService({ completedThresholdMs: 0 });
  for (let count = 0; count < 50; count++) await answerOf({ statement: 'ROWS 1' });
  let nowMs = 0;
  service.deps.clock.monotonicMs = () => nowMs++;
  let texts = 0;
  for (const { active } of service.completed.all()) {
    const { request } = active;
    const get = () => {
      texts++;
      return request;
    };
    Object.defineProperty(active, 'request', { get });
  }
  const origin = originOf('admin', 'password');
  const session = await openSession(service.deps.authority, origin, []);
  const catalog = new RequestCatalog(service, session);
  const scan = async () => {
    const lengths: number[] = [];
    for await (const rows of catalog.scan('completed_requests', execution, () => {}))
      lengths.push(rows.length);
    return lengths;
  };
  const lengths = await scan();
  assert.equal(
    lengths.reduce((sum, length) => sum + length),
    50,
  );
  assert.ok(Math.max(...lengths) <= 2, `${lengths}`);
  const read = texts;
  assert.deepEqual(await scan(), lengths);
  assert.equal(texts, read, 'rows are made again');
  let pauses = 0;
  const { slices } = service;
  slices.begin = () => ({ pause: async () => void pauses++, end: () => {} });
  const request = { method: 'GET', path: '/admin/completed_requests', body: '' };
  const { text } = await answerAdmin(service, request, origin);
  assert.equal((JSON.parse(text) as unknown[]).length, 50);
  assert.ok(pauses >= 10, `${pauses} pauses`);
});

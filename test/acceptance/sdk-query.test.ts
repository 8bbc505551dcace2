// `cluster.query()` of the official SDK.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  AmbiguousTimeoutError,
  AuthenticationFailureError,
  type Cluster,
  MutationState,
  type MutationToken,
  ParsingFailureError,
  PlanningFailureError,
  QueryProfileMode,
  QueryScanConsistency,
  UnambiguousTimeoutError,
} from 'couchbase';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

describe('the SDK’s queries', () => {
  let node: NodeProcess;
  let cluster: Cluster;
  const query = async <T = unknown>(text: string, options = {}) =>
    (await cluster.query<T>(text, options)).rows;

  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b', '--services', 'kv,index,n1ql'] });
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    const collection = cluster.bucket('b').defaultCollection();
    for (let n = 0; n < 20; n++) await collection.upsert(`k${n}`, { n, odd: n % 2 === 1, name: `name ${n}` });
  });
  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
  });

  it('return rows, metadata and metrics', async () => {
    const { rows, meta } = await cluster.query('SELECT 1 AS one, "a" AS two', {
      metrics: true,
      clientContextId: 'mine',
      profile: QueryProfileMode.Timings,
    });
    assert.deepEqual(rows, [{ one: 1, two: 'a' }]);
    assert.equal(meta.clientContextId, 'mine');
    assert.equal(meta.metrics?.resultCount, 1);
    assert.equal(meta.status, 'success');
    assert.deepEqual(meta.signature, { one: 'number', two: 'string' });
    assert.ok(meta.profile);
  });

  it('accept positional and named parameters', async () => {
    const text = 'SELECT META().id FROM b WHERE n = $1 OR name = $2 ORDER BY n';
    assert.deepEqual(await query(text, { parameters: [3, 'name 7'] }), [{ id: 'k3' }, { id: 'k7' }]);
    const named = 'SELECT RAW n FROM b WHERE n BETWEEN $low AND $high ORDER BY n';
    assert.deepEqual(await query(named, { parameters: { low: 5, high: 7 } }), [5, 6, 7]);
  });

  it('fail with the name of a feature that is not supported', async () => {
    await assert.rejects(query('SELECT SEARCH(b, "x") FROM b'), (error: Error) => {
      const cause = JSON.stringify(error.cause);
      assert.match(cause, /16003/);
      assert.match(cause, /SEARCH\(\): /);
      return true;
    });
  });

  it('gather statistics', async () => {
    assert.deepEqual(await query('UPDATE STATISTICS FOR b(n)'), []);
    assert.deepEqual(await query('SELECT RAW distributionKeys FROM system:dictionary'), [['`n`']]);
    assert.deepEqual(await query('ANALYZE b DELETE STATISTICS'), []);
    assert.deepEqual(await query('SELECT RAW distributionKeys FROM system:dictionary'), []);
  });

  it('scan a collection without an index, and fail with 4000 if that is switched off', async () => {
    const text = 'SELECT RAW COUNT(*) FROM b WHERE odd';
    assert.deepEqual(await query(text), [10]);
    await assert.rejects(query(text, { raw: { n1ql_feat_ctrl: 0x4000 } }), PlanningFailureError);
  });

  it('change documents, and return the number of changes', async () => {
    await query('INSERT INTO b (KEY, VALUE) VALUES ("new", {"n": 100})');
    assert.deepEqual(await query('UPDATE b USE KEYS "new" SET x = n + 1 RETURNING x'), [{ x: 101 }]);
    const { content } = await cluster.bucket('b').defaultCollection().get('new');
    assert.deepEqual(content, { n: 100, x: 101 });
    const { meta } = await cluster.query('DELETE FROM b USE KEYS "new"', { metrics: true });
    assert.equal(meta.metrics?.mutationCount, 1);
    await assert.rejects(query('INSERT INTO b (KEY, VALUE) VALUES ("k1", {})'), failsWith(12009));
  });

  it('return the version of the server, and count in the metrics', async () => {
    const selects = async () => {
      const text = await (await node.request('/metrics')).text();
      return Number(/^n1ql_selects (\d+)$/m.exec(text)?.[1]);
    };
    const before = await selects();
    const { implementationVersion } = (await (await node.request('/pools')).json()) as {
      implementationVersion: string;
    };
    assert.deepEqual(await query('SELECT RAW DS_VERSION()'), [implementationVersion]);
    await eventually(async () => assert.equal((await selects()) - before, 1));
  });

  it('run prepared statements that the service no longer has', async () => {
    const text = 'SELECT RAW $1 + 1';
    const ask = (value: number) => query(text, { adhoc: false, parameters: [value] });
    assert.deepEqual(await ask(1), [2]);
    await query('DELETE FROM system:prepareds');
    assert.deepEqual(await ask(2), [3]);
  });

  it('run prepared statements', async () => {
    const text = 'SELECT RAW n FROM b USE KEYS $1';
    for (let n = 0; n < 5; n++)
      assert.deepEqual(await query(text, { adhoc: false, parameters: [`k${n}`] }), [n]);
    const prepared = await query<{ statement: string; uses: number }>(
      'SELECT statement, uses FROM system:prepareds',
    );
    assert.ok(
      prepared.some(({ statement, uses }) => statement.includes(text) && uses >= 4),
      JSON.stringify(prepared),
    );
  });

  it('are rejected with the error classes of the SDK', async () => {
    await assert.rejects(query('SELEC 1'), ParsingFailureError);
    await assert.rejects(query('SELECT * FROM nowhere'), failsWith(12003));
    await assert.rejects(query('SELECT 1', { raw: { strange: 1 } }), failsWith(1065));
  });

  it('stream large results', async () => {
    const rows = await streamed('SELECT RAW a FROM ARRAY_RANGE(0, 9000) a, ARRAY_RANGE(0, 3) b');
    assert.equal(rows.length, 27_000);
    assert.ok(rows.every((row, at) => row === Math.floor(at / 3)));
  });

  /** Whether an error of the SDK has this code of the query service. */
  function failsWith(code: number): (error: Error) => boolean {
    return ({ cause }) => (cause as { first_error_code?: number }).first_error_code === code;
  }

  function streamed(text: string): Promise<unknown[]> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
    const rows: unknown[] = [];
    const result = cluster.query(text);
    result.on('row', (row) => rows.push(row));
    result.on('end', () => resolve(rows));
    result.on('error', reject);
    return promise;
  }

  it('end at their timeout, and the service continues', async () => {
    const endless = 'SELECT COUNT(*) FROM ARRAY_RANGE(0, 30000) a, ARRAY_RANGE(0, 30000) b';
    await assert.rejects(
      query(endless, { timeout: 1_000 }),
      (error) => error instanceof UnambiguousTimeoutError || error instanceof AmbiguousTimeoutError,
    );
    await eventually(async () => {
      const running = await query<string>('SELECT RAW statement FROM system:active_requests');
      assert.equal(running.length, 1, JSON.stringify(running));
    });
  });

  it('are cancelled through the catalog', async () => {
    const endless = 'SELECT COUNT(*) FROM ARRAY_RANGE(0, 30001) a, ARRAY_RANGE(0, 30001) b';
    const running = assert.rejects(query(endless), failsWith(5011));
    await eventually(async () => {
      const text = 'DELETE FROM system:active_requests WHERE statement LIKE "SELECT%30001%"';
      const { meta } = await cluster.query(text, { metrics: true });
      assert.equal(meta.metrics?.mutationCount, 1);
    });
    await running;
  });

  it('see earlier writes with request_plus and with the token of a write', async () => {
    await query('CREATE INDEX by_time IF NOT EXISTS ON b(time)');
    const collection = cluster.bucket('b').defaultCollection();
    for (let time = 1; time <= 5; time++) {
      await collection.upsert('timed', { time });
      const options = { scanConsistency: QueryScanConsistency.RequestPlus };
      assert.deepEqual(await query('SELECT RAW time FROM b WHERE time > 0', options), [time]);
    }
    for (let time = 6; time <= 10; time++) {
      const written = await collection.upsert('timed', { time });
      const consistentWith = new MutationState(written.token as MutationToken);
      assert.deepEqual(await query('SELECT RAW time FROM b WHERE time > 0', { consistentWith }), [time]);
    }
    await query('DROP INDEX by_time ON b');
  });

  it('resolve names in a scope', async () => {
    const manager = cluster.bucket('b').collections();
    await manager.createScope('s');
    await manager.createCollection('c', 's');
    const scope = cluster.bucket('b').scope('s');
    // The service knows the collection before its creation is answered.
    await scope.query('UPSERT INTO c (KEY, VALUE) VALUES ("k", {"v": 1})');
    assert.deepEqual((await scope.query('SELECT c.v FROM c')).rows, [{ v: 1 }]);
    assert.deepEqual(await query('SELECT RAW v FROM b.s.c'), [1]);
  });

  it('manage indexes', async () => {
    const indexes = cluster.queryIndexes();
    await indexes.createPrimaryIndex('b', { ignoreIfExists: true });
    await indexes.createIndex('b', 'by_n', ['n', 'odd']);
    await assert.rejects(indexes.createIndex('b', 'by_n', ['n']), /exist/i);
    await indexes.createIndex('b', 'later', ['name'], { deferred: true });
    await indexes.buildDeferredIndexes('b');
    await indexes.watchIndexes('b', ['by_n', 'later', '#primary'], 10_000);
    const names = (await indexes.getAllIndexes('b')).map(({ name, state }) => `${name} ${state}`);
    assert.deepEqual(names.sort(), ['#primary online', 'by_n online', 'later online']);
    for (const name of ['by_n', 'later']) await indexes.dropIndex('b', name);
    await indexes.dropPrimaryIndex('b');
    await assert.rejects(indexes.dropIndex('b', 'by_n'), /not.*found/i);
  });

  it('check the roles of users, and name the missing role', async () => {
    await cluster.users().upsertGroup({ name: 'readers', roles: ['data_reader[b]'] });
    await cluster.users().upsertUser({
      username: 'reader',
      password: 'password',
      roles: ['query_select[b]'],
      groups: ['readers'],
    });
    const other = await connect(`couchbase://${node.ready.node.kv}`, {
      username: 'reader',
      password: 'password',
    });
    try {
      await eventually(async () =>
        assert.deepEqual((await other.query('SELECT RAW n FROM b USE KEYS "k1"')).rows, [1]),
      );
      const refused = (text: string, role: RegExp) =>
        assert.rejects(other.query(text), (error: Error & { cause?: { first_error_message?: string } }) => {
          assert.ok(error instanceof AuthenticationFailureError, error.name);
          assert.match(JSON.stringify(error.cause), role);
          return true;
        });
      await refused('DELETE FROM b USE KEYS "k1"', /query_delete/);
      await refused('CREATE INDEX i ON b(n)', /query_manage_index/);
      await refused('SELECT * FROM system:active_requests', /query_system_catalog/);
      await query('GRANT query_delete ON b TO reader');
      await eventually(() => other.query('DELETE FROM b USE KEYS "none"'));
      await query('REVOKE query_delete ON b FROM reader');
      await eventually(() => refused('DELETE FROM b USE KEYS "none"', /query_delete/));
      assert.deepEqual((await cluster.users().getUser('reader')).groups, ['readers']);
    } finally {
      await other.close();
    }
  });

  it('reach a service that a ping of the cluster lists', async () => {
    const { services } = await cluster.ping();
    assert.ok(JSON.stringify(services).includes('query'));
  });
});

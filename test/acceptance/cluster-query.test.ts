// Statements on buckets that are spread over three nodes, also with the official SDK: every node answers for all documents.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Cluster, MutationState } from 'couchbase';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { type QueryAnswer, QueryClient } from '../support/query-client.ts';
import { connect } from '../support/sdk.ts';

const waitLimitMs = 240_000;
const count = 400;
/** Documents whose number has the remainder 1 after a division by 3. */
const countOfKind1 = 133;
/** Codes of errors: a statement is wrong, was not finished in time, needs a node that is down. */
const code = { wrong: 3000, timeout: 1080, nodeDown: 12008 };

type Parameters = Record<string, unknown>;

const query = (node: NodeProcess, statement: string, parameters?: Parameters): Promise<QueryAnswer> =>
  new QueryClient(node.ready.node.query as string).ask(statement, parameters);

const rows = (node: NodeProcess, statement: string, parameters?: Parameters): Promise<unknown[]> =>
  new QueryClient(node.ready.node.query as string).rows(statement, parameters);

async function storeLibrary(node: NodeProcess, code: string): Promise<void> {
  const { username, password } = administrator;
  const headers = { authorization: `Basic ${btoa(`${username}:${password}`)}` };
  const url = `${node.ready.node.query}/evaluator/v1/libraries/lib`;
  assert.equal((await fetch(url, { method: 'POST', headers, body: code })).status, 200);
}

const requestPlus = { scan_consistency: 'request_plus' };

interface Pool {
  balanced: boolean;
  nodes: { otpNode: string; clusterMembership: string; ports: { direct: number } }[];
}
const pool = async (node: NodeProcess): Promise<Pool> =>
  (await (await node.request('/pools/default')).json()) as Pool;

async function untilBalanced(node: NodeProcess, nodes: number): Promise<void> {
  await eventuallyWithin(waitLimitMs, async () => {
    const state = await pool(node);
    assert.deepEqual([state.balanced, state.nodes.length], [true, nodes]);
  });
}

const startJoining = (first: NodeProcess): Promise<NodeProcess> =>
  NodeProcess.start({ args: ['--join', first.ready.node.rest] });

async function createBucket(node: NodeProcess, name: string, replicaNumber: string): Promise<void> {
  const form = { name, ramQuotaMB: '100', replicaNumber };
  assert.equal((await node.request('/pools/default/buckets', 'POST', form)).status, 202);
}

async function otpNameOf(node: NodeProcess): Promise<string> {
  const port = Number(/:(\d+)$/.exec(node.ready.node.kv)?.[1]);
  const { nodes } = await pool(node);
  return nodes.find(({ ports }) => ports.direct === port)?.otpNode ?? '';
}

describe('statements in a cluster of three nodes', { timeout: 900_000 }, () => {
  let first: NodeProcess;
  let second: NodeProcess;
  let third: NodeProcess;
  let cluster: Cluster;
  const all = () => [first, second, third];

  before(async () => {
    first = await NodeProcess.start({ args: ['--memory-quota', '300'] });
    second = await startJoining(first);
    await untilBalanced(first, 2);
    third = await startJoining(first);
    for (const node of all()) await untilBalanced(node, 3);
    await createBucket(second, 'b', '1');
    cluster = await connect(`couchbase://${second.ready.node.kv}`, administrator);
    const collection = cluster.bucket('b').defaultCollection();
    await eventuallyWithin(waitLimitMs, () =>
      Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((key) => collection.upsert(key, {}))),
    );
    assert.equal((await rows(first, 'DELETE FROM b RETURNING RAW meta().id')).length, 7);
  });

  after(async () => {
    await cluster?.close();
    for (const node of all()) await node?.[Symbol.asyncDispose]();
  });

  it('knows functions and statistics of every node', async () => {
    // A query thread follows changes from its first request on.
    for (const node of all()) await rows(node, 'SELECT 1');
    await rows(first, 'CREATE FUNCTION twice(x) { x * 2 }');
    await storeLibrary(first, 'function half(x) { return x / 2; }');
    await rows(third, 'CREATE FUNCTION half(x) LANGUAGE JAVASCRIPT AS "half" AT "lib"');
    await rows(second, 'UPDATE STATISTICS FOR b(n)');
    const known = 'SELECT RAW distributionKeys FROM system:dictionary';
    for (const node of all()) {
      assert.deepEqual(await rows(node, 'SELECT RAW twice(4)'), [8]);
      await eventuallyWithin(waitLimitMs, async () => assert.deepEqual(await rows(node, known), [['`n`']]));
    }
    assert.deepEqual(await rows(second, 'SELECT RAW half(4)'), [2]);
    await storeLibrary(third, 'function half(x) { return -x; }');
    assert.deepEqual(await rows(second, 'SELECT RAW half(4)'), [-4]);
    await rows(third, 'DROP FUNCTION twice');
    await rows(third, 'ANALYZE b DELETE STATISTICS');
    for (const node of all())
      await eventuallyWithin(waitLimitMs, async () => {
        assert.deepEqual((await query(node, 'SELECT RAW twice(4)')).errors?.[0]?.code, code.wrong);
        assert.deepEqual(await rows(node, known), []);
      });
  });

  it('shows and removes prepared statements of every node', async () => {
    const names = all().map(({ ready }) => ready.node.rest.replace('http://', ''));
    assert.deepEqual((await rows(second, 'SELECT RAW name FROM system:nodes')).sort(), [...names].sort());
    for (const node of [first, second]) await rows(node, 'PREPARE everywhere FROM SELECT 1');
    const nodes = 'SELECT RAW node FROM system:prepareds WHERE name = "everywhere"';
    assert.deepEqual((await rows(third, nodes)).sort(), names.slice(0, 2).sort());
    assert.deepEqual(await rows(third, 'EXECUTE everywhere'), [{ $1: 1 }]);
    await rows(third, 'DELETE FROM system:prepareds WHERE name = "everywhere"');
    assert.deepEqual(await rows(first, nodes), []);
  });

  it('writes, counts, scans and reads by key on every node', async () => {
    const values = Array.from(
      { length: count },
      (_, n) => `VALUES ("k${n}", {"n": ${n}, "kind": "${n % 3}"})`,
    );
    assert.deepEqual(await rows(first, `INSERT INTO b ${values.join(', ')}`), []);
    for (const node of all()) {
      assert.deepEqual(await rows(node, 'SELECT RAW COUNT(*) FROM b'), [count]);
      assert.deepEqual(await rows(node, 'SELECT RAW SUM(n) FROM b'), [(count * (count - 1)) / 2]);
      const keys = JSON.stringify(Array.from({ length: count }, (_, n) => `k${n}`));
      assert.equal((await rows(node, `SELECT RAW n FROM b USE KEYS ${keys}`)).length, count);
      assert.deepEqual(await rows(node, 'SELECT RAW n FROM b USE KEYS "k7"'), [7]);
    }
    assert.equal(
      (await rows(second, 'UPDATE b SET m = n + 1 WHERE kind = "1" RETURNING RAW m')).length,
      countOfKind1,
    );
    assert.deepEqual(await rows(third, 'SELECT RAW COUNT(m) FROM b'), [countOfKind1]);
    const merged =
      'MERGE INTO b USING [{"k": "k1"}, {"k": "k2"}, {"k": "k3"}] AS s ON KEY s.k WHEN MATCHED THEN UPDATE SET b.x = 1';
    await rows(third, merged);
    assert.deepEqual(await rows(first, 'SELECT RAW COUNT(x) FROM b'), [3]);
    // Metadata of documents comes in other requests than their bodies.
    assert.equal((await rows(first, 'SELECT RAW meta().expiration FROM b')).length, count);
  });

  it('has every index on every node when CREATE INDEX answers, and reads own writes through it', async () => {
    await rows(first, 'CREATE INDEX by_n ON b(n)');
    for (const node of all()) {
      const plan = JSON.stringify(await rows(node, 'EXPLAIN SELECT RAW n FROM b WHERE n >= 0'));
      assert.match(plan, /IndexScan3.*by_n/);
      assert.equal((await rows(node, 'SELECT RAW n FROM b WHERE n >= 0', requestPlus)).length, count);
    }
    const { indexes } = (await (await first.request('/indexStatus')).json()) as {
      indexes: { hosts: string[]; status: string }[];
    };
    assert.deepEqual(
      indexes.map(({ hosts, status }) => [hosts.length, status]),
      [[3, 'Ready']],
    );
    const collection = cluster.bucket('b').defaultCollection();
    for (let round = 0; round < 2; round++) {
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, n) => collection.upsert(`w${n}`, { n: 10_000 + round * 10 + n })),
      );
      const statement = `SELECT RAW COUNT(*) FROM b WHERE n >= ${10_000 + round * 10}`;
      for (const node of all()) assert.deepEqual(await rows(node, statement, requestPlus), [10]);
      const consistentWith = new MutationState(
        ...results.map(({ token }) => token).filter((token) => token !== undefined),
      );
      const { rows: found } = await cluster.query(statement, { consistentWith });
      assert.deepEqual(found, [10]);
    }
    await rows(second, 'CREATE PRIMARY INDEX ON b WITH {"defer_build": true}');
    await rows(third, 'BUILD INDEX ON b(`#primary`)');
    for (const node of all())
      assert.deepEqual(await rows(node, 'SELECT RAW state FROM system:indexes WHERE name = "#primary"'), [
        'online',
      ]);
    await rows(second, 'DROP PRIMARY INDEX ON b');
  });

  it('accepts replicas and nodes of an index as far as there are nodes, and shows the number everywhere', async () => {
    type Shown = { indexName: string; numReplica: number };
    const { username, password } = administrator;
    const headers = { authorization: `Basic ${btoa(`${username}:${password}`)}` };
    const settings = async (numReplica: string) => {
      const answer = await first.request('/settings/indexes', 'POST', { numReplica });
      assert.equal(answer.status, 200);
    };
    const addressOf = (node: NodeProcess) => new URL(node.ready.node.rest).host;
    const shown = 'SELECT RAW metadata.num_replica FROM system:indexes WHERE name = "copied"';
    const assertShown = async (expected: number): Promise<void> => {
      for (const node of all())
        await eventuallyWithin(waitLimitMs, async () =>
          assert.deepEqual(await rows(node, shown), [expected]),
        );
      const { indexes } = (await (await first.request('/indexStatus')).json()) as { indexes: Shown[] };
      const ofService = await fetch(`${first.ready.node.index}/getIndexStatus`, { headers });
      const { status } = (await ofService.json()) as { status: Shown[] };
      const numbers = [...indexes, ...status].filter(({ indexName }) => indexName === 'copied');
      assert.deepEqual(
        numbers.map(({ numReplica }) => numReplica),
        [expected, expected],
      );
    };
    const refusalOf = async (statement: string): Promise<string> =>
      (await query(second, statement)).errors?.[0]?.msg ?? '';
    await rows(second, 'CREATE INDEX copied ON b(m) WITH {"num_replica": 2}');
    await assertShown(2);
    const tooMany = await refusalOf('CREATE INDEX other ON b(m) WITH {"num_replica": 3}');
    assert.match(tooMany, /not enough indexer nodes/);
    await rows(third, 'ALTER INDEX copied ON b WITH {"action": "drop_replica", "replicaId": 1}');
    await assertShown(1);
    await rows(first, 'ALTER INDEX copied ON b WITH {"action": "replica_count", "num_replica": 0}');
    const toThird = JSON.stringify({ action: 'move', nodes: [addressOf(third)] });
    await rows(first, `ALTER INDEX copied ON b WITH ${toThird}`);
    await assertShown(0);
    await rows(first, 'DROP INDEX copied ON b');
    await settings('1');
    await rows(first, 'CREATE INDEX copied ON b(m)');
    await assertShown(1);
    await rows(second, 'DROP INDEX copied ON b');
    await settings('0');
    const named = JSON.stringify({ nodes: [addressOf(second), addressOf(third)] });
    await rows(third, `CREATE INDEX copied ON b(m) WITH ${named}`);
    await assertShown(1);
    await rows(second, 'DROP INDEX copied ON b');
    const unknown = await refusalOf('CREATE INDEX other ON b(m) WITH {"nodes": ["nowhere:8091"]}');
    assert.match(unknown, /Node nowhere:8091 does not exist/);
  });

  it('mixes documents and statements in transactions', async () => {
    await cluster.transactions().run(async (attempt) => {
      const collection = cluster.bucket('b').defaultCollection();
      const read = await attempt.get(collection, 'k1');
      await attempt.replace(read, { ...read.content, t: 1 });
      await attempt.query('UPDATE b USE KEYS ["k2", "k3", "k4", "k5"] SET t = 1');
      await attempt.query('INSERT INTO b VALUES ("t1", {"t": 1}), ("t2", {"t": 1}), ("t3", {"t": 1})');
    });
    for (const node of all())
      assert.deepEqual(await rows(node, 'SELECT RAW COUNT(t) FROM b', requestPlus), [8]);
    await assert.rejects(
      cluster.transactions().run(async (attempt) => {
        await attempt.query('UPDATE b SET t = 2 WHERE n < 100');
        throw new Error('no');
      }),
    );
    assert.deepEqual(await rows(first, 'SELECT RAW COUNT(*) FROM b WHERE t = 2'), [0]);
  });

  it('creates collections and uses them at once, wherever their documents are', async () => {
    await rows(second, 'CREATE SCOPE b.s');
    await rows(second, 'CREATE COLLECTION b.s.c');
    const values = Array.from({ length: 50 }, (_, n) => `VALUES ("k${n}", {"n": ${n}})`);
    await rows(second, `INSERT INTO b.s.c ${values.join(', ')}`);
    for (const node of all())
      await eventuallyWithin(waitLimitMs, async () =>
        assert.deepEqual(await rows(node, 'SELECT RAW COUNT(*) FROM b.s.c'), [50]),
      );
    await rows(second, 'CREATE INDEX by_n ON b.s.c(n)');
    for (const node of all())
      assert.deepEqual(await rows(node, 'SELECT RAW COUNT(*) FROM b.s.c WHERE n >= 10', requestPlus), [40]);
    for (let round = 0; round < 3; round++) {
      await rows(second, 'CREATE INDEX often ON b.s.c(n) WITH {"defer_build": true}');
      await rows(first, 'DROP INDEX often ON b.s.c');
      const shown = 'SELECT RAW name FROM system:indexes WHERE name = "often"';
      const found = await Promise.all(all().map((node) => rows(node, shown)));
      assert.deepEqual(found, [[], [], []]);
    }
  });

  it('answers once a node that is down was failed over, and never in part before', async () => {
    const before = (await rows(first, 'SELECT RAW COUNT(*) FROM b'))[0];
    const statements = ['SELECT RAW COUNT(*) FROM b', 'SELECT RAW COUNT(kind) FROM b'];
    const kinds = await rows(first, statements[1] as string);
    const name = await otpNameOf(third);
    await third.stop('SIGKILL');
    const refused = await Promise.all(statements.map((statement) => query(second, statement)));
    for (const { errors, results } of refused)
      assert.deepEqual(
        [errors?.map(({ code, retry }) => [code, retry]), results ?? []],
        [[[code.nodeDown, true]], []],
      );
    // More than the query service runs at a time.
    const waiting = Array.from({ length: 100 }, () => query(second, statements[1] as string));
    let hasWaitEnded = false;
    for (const statement of waiting) void statement.then(() => (hasWaitEnded = true));
    const timedOut = query(second, statements[1] as string, { timeout: '500ms' });
    const values = Array.from({ length: 50 }, (_, n) => `VALUES ("k${n}", {"n": ${n}, "kind": "again"})`);
    const written = query(second, `UPSERT INTO b ${values.join(', ')}`);
    assert.deepEqual(
      (await timedOut).errors?.map(({ code }) => code),
      [code.timeout],
    );
    assert.deepEqual(await rows(second, 'SELECT RAW 1'), [1]);
    assert.equal(hasWaitEnded, false, 'a statement that waits for the node ended before the failover');
    const failed = await first.request('/controller/failOver', 'POST', { otpNode: name });
    assert.equal(failed.status, 200, await failed.text());
    for (const { errors, results } of await Promise.all(waiting))
      assert.deepEqual([errors ?? [], results], [[], kinds]);
    assert.deepEqual((await written).errors ?? [], []);
    for (const node of [first, second])
      await eventuallyWithin(waitLimitMs, async () => {
        assert.deepEqual(await rows(node, 'SELECT RAW COUNT(*) FROM b'), [before]);
        assert.deepEqual(await rows(node, 'SELECT RAW COUNT(n) FROM b WHERE n >= 0', requestPlus), [
          count + 10,
        ]);
      });
    await rows(first, 'UPSERT INTO b VALUES ("after", {"n": 1})');
    assert.deepEqual(await rows(second, 'SELECT RAW COUNT(n) FROM b WHERE n >= 0', requestPlus), [
      count + 11,
    ]);
  });

  it('includes a node that joins: new buckets are on it, and it answers for the others', async () => {
    // Without documents the rebalance of the join has nothing to move.
    assert.equal((await first.request('/pools/default/buckets/b', 'DELETE')).status, 200);
    await using fourth = await startJoining(first);
    await untilBalanced(fourth, 3);
    await createBucket(first, 'd', '0');
    const added = 100;
    const values = Array.from({ length: added }, (_, n) => `VALUES ("k${n}", {"n": ${n}})`);
    await eventuallyWithin(waitLimitMs, () => rows(fourth, `UPSERT INTO d ${values.join(', ')}`));
    await rows(second, 'CREATE INDEX by_n ON d(n)');
    for (const node of [first, second, fourth]) {
      assert.deepEqual(
        await rows(node, 'SELECT RAW SUM(n) FROM d USE INDEX (by_n) WHERE n >= 0', requestPlus),
        [(added * (added - 1)) / 2],
      );
      assert.deepEqual(await rows(node, 'SELECT RAW COUNT(*) FROM d'), [added]);
    }
  });
});

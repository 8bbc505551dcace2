// Profiles: rows and times of a run's operators.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { jsonText } from '../values/json-text.ts';

interface Node {
  readonly '#operator': string;
  readonly '#stats'?: Readonly<Record<string, unknown>>;
}

function aStore(): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (let at = 0; at < 1000; at++) datastore.put(t, `t${at}`, { a: at, b: at % 10 });
  return datastore;
}

/** Runs a statement with a profile, and a clock that moves by 1 ms whenever it is read, so that each operator takes some time. */
async function profiled(statement: string, datastore = aStore()) {
  let nowMs = 0;
  const prepared = prepareOn(datastore, statement);
  const context = { ...contextOf(datastore), isProfiled: true, monotonicMs: () => nowMs++ };
  const execution = prepared.program.run(prepared, context);
  let rows = 0;
  for await (const batch of execution.rows) rows += batch.length;
  const nodes: Node[] = [];
  JSON.parse(jsonText(execution.timings()), (_key, value) => {
    if (typeof value === 'object' && value !== null && '#operator' in value) nodes.push(value as Node);
    return value;
  });
  const statsOf = (operator: string) => nodes.find((node) => node['#operator'] === operator)?.['#stats'];
  return { rows, statsOf, nodes, phases: execution.outcome.phases, totalMs: nowMs };
}

test('each operator of a profiled run has its rows and times', async () => {
  const datastore = aStore();
  await query(datastore, 'CREATE INDEX by_b ON t(b)');
  const { rows, statsOf, phases, nodes } = await profiled(
    'SELECT a FROM t WHERE b = 3 AND a > 500 ORDER BY a DESC LIMIT 10',
    datastore,
  );
  assert.equal(rows, 10);
  assert.equal(statsOf('IndexScan3')?.['#itemsOut'], 100);
  assert.deepEqual([statsOf('Fetch')?.['#itemsIn'], statsOf('Fetch')?.['#itemsOut']], [100, 100]);
  assert.deepEqual([statsOf('Filter')?.['#itemsIn'], statsOf('Filter')?.['#itemsOut']], [100, 50]);
  assert.equal(statsOf('Order')?.['#itemsIn'], 50);
  assert.equal(statsOf('InitialProject')?.['#itemsOut'], 10);
  for (const name of ['IndexScan3', 'Fetch'])
    assert.match(String(statsOf(name)?.['servTime']), /^[\d.]+m?s$/, `${name} waits for a service`);
  for (const name of ['Filter', 'Order', 'InitialProject']) {
    assert.match(String(statsOf(name)?.['execTime']), /^[\d.]+m?s$/, name);
    assert.equal(statsOf(name)?.['servTime'], undefined, `${name} waits for no service`);
    assert.ok(Number(statsOf(name)?.['#phaseSwitches']) > 0, name);
  }
  const fetch = nodes.find((node) => node['#operator'] === 'Fetch') as Node;
  assert.deepEqual(Object.keys(fetch).slice(0, 2), ['#operator', '#stats']);
  assert.deepEqual(
    ['indexScan', 'fetch', 'filter', 'sort', 'project'].map((name) => phases.get(name)?.items),
    [100, 100, 100, 50, 10],
  );
  for (const [name, { operators, ms }] of phases) assert.ok(operators === 1 && ms > 0, name);
});

test('times of operators do not overlap: their sum is at most the time of the run', async () => {
  const { nodes, totalMs } = await profiled(
    'SELECT x.a, COUNT(*) AS n FROM t AS x JOIN t AS y ON y.a = x.a WHERE x.b = 1 GROUP BY x.a ORDER BY x.a',
  );
  const times = nodes.flatMap(({ '#stats': stats = {} }) =>
    ['execTime', 'kernTime', 'servTime'].map((name) => msOf(stats[name])),
  );
  const sum = times.reduce((a, b) => a + b, 0);
  assert.ok(sum > 0 && sum <= totalMs, `${sum} of ${totalMs}`);
});

function msOf(text: unknown): number {
  const [, number = '0', unit = 'ms'] = /^([\d.]+)(ms|s)$/.exec(String(text)) ?? [];
  return Number(number) * (unit === 's' ? 1000 : 1);
}

test('changes of documents and subqueries are profiled too', async () => {
  const changed = await profiled('UPDATE t SET c = 1 WHERE b = 2');
  assert.equal(changed.phases.get('update')?.operators, 1);
  assert.ok((changed.phases.get('update')?.ms ?? 0) > 0);
  assert.ok(msOf(changed.statsOf('SendUpdate')?.['servTime']) > 0);
  const outer = await profiled('SELECT (SELECT RAW MAX(u.a) FROM t AS u)[0] AS m FROM t LIMIT 1');
  const projects = outer.nodes.filter((node) => node['#operator'] === 'InitialProject');
  assert.equal(projects.filter((node) => node['#stats']).length, 2);
});

test('a profiled run reads documents and indexes by the same calls as a run without a profile', async () => {
  const datastore = aStore();
  await query(datastore, 'CREATE INDEX by_a ON t(a)');
  const calls: string[] = [];
  const recorded = <T extends object>(service: T): T =>
    new Proxy(service, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          if (name !== 'indexesOf') calls.push(String(name));
          return (member as (...args: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  const { catalog, indexAdmin, documents, indexes } = datastore;
  const observed = {
    find: datastore.find.bind(datastore),
    catalog,
    indexAdmin,
    documents: recorded(documents),
    indexes: recorded(indexes),
  };
  for (const statement of [
    'SELECT b FROM t WHERE a = 5',
    'SELECT b FROM t WHERE a BETWEEN 5 AND 50',
    'SELECT b FROM t USE KEYS ["t1", "t2", "t3"]',
    'SELECT b FROM t WHERE b = 5',
  ]) {
    const prepared = prepareOn(datastore, statement);
    const callsOf = async (isProfiled: boolean): Promise<string[]> => {
      const context = { ...contextOf(datastore), datastore: observed, isProfiled };
      for await (const _rows of prepared.program.run(prepared, context).rows);
      return calls.splice(0);
    };
    const plain = await callsOf(false);
    assert.ok(plain.length > 0);
    assert.deepEqual(await callsOf(true), plain, statement);
  }
});

test('COUNT(*) of a keyspace is one phase', async () => {
  const { phases } = await profiled('SELECT COUNT(*) AS n FROM t');
  assert.deepEqual([phases.get('count')?.operators, phases.get('count')?.items], [1, 1]);
  assert.equal(phases.get('countScan'), undefined);
});

test('a run without profiling has no timings', async () => {
  const datastore = aStore();
  const prepared = prepareOn(datastore, 'SELECT a FROM t LIMIT 1');
  const execution = prepared.program.run(prepared, contextOf(datastore));
  for await (const _rows of execution.rows);
  assert.equal(execution.timings(), null);
});

// Range queries over the time series of three nodes: two that answer, and this one, which is asked.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { RangeService } from '#metrics/range/range.service.ts';
import { RangeBudget } from '#metrics/range/range-budget.ts';
import { readPathRequest } from '#metrics/range/range-request.ts';
import type { FlatSample, Labels } from '#metrics/sample.ts';
import { runPromises } from '../../../test/support/advance-clock.ts';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { metricsInMemory } from '../../../test/support/metrics.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { StableNodeSnapshot } from '../nodes/node-record.ts';
import { RangeNodes } from './range-nodes.ts';

const stepMs = 10_000;
const gauge = (name: string, labels: Labels, value: number): FlatSample => ({ name, labels, value });

interface Case {
  /** The samples in the metrics store of each node. */
  samples: Record<string, FlatSample[]>;
  silent?: string[];
  older?: string[];
  down?: string[];
  failedOver?: string[];
}

/** The first node is the one that is asked. Messages between the nodes are JSON. */
async function aClusterOf(
  { samples, silent = [], older = [], down = [], failedOver = [] }: Case,
  t: TestContext,
) {
  const clock = new ManualClock();
  const endMs = Math.floor(clock.wallMs() / stepMs) * stepMs;
  const names = Object.keys(samples);
  const own = aCluster().nodes[0] as NodeState;
  const snapshots = names.map((name, index): StableNodeSnapshot => {
    const membership = failedOver.includes(name) ? 'inactiveFailed' : 'active';
    const node = { ...own, ...nodeNamed(name, { hostname: name, membership }) };
    return { node, isThis: index === 0, isAnswering: !down.includes(name) } as StableNodeSnapshot;
  });
  const answers = new Map<string, Map<string, (body: never) => unknown>>();
  const asked: string[] = [];
  const ask = async (nodeId: string, name: string, body: unknown) => {
    asked.push(`${nodeId} ${name}`);
    if (older.includes(nodeId)) throw new Error(`this version does not answer "${name}"`);
    if (silent.includes(nodeId)) return await new Promise(() => {});
    const sent = JSON.parse(JSON.stringify(body)) as never;
    return JSON.parse(JSON.stringify(await answers.get(nodeId)?.get(name)?.(sent)));
  };
  const nodes: RangeNodes[] = [];
  for (const [name, of] of Object.entries(samples)) {
    const { store } = metricsInMemory(clock);
    await store.open();
    t.after(() => store.close());
    for (const atMs of [endMs - stepMs, endMs]) store.append(atMs, of);
    const answer = (kind: string, answerTo: (body: never) => unknown) =>
      void answers.set(name, (answers.get(name) ?? new Map()).set(kind, answerTo));
    nodes.push(
      new RangeNodes({
        source: store,
        clock,
        peers: { ask, answer } as never,
        snapshots: { stable: () => snapshots[0] as StableNodeSnapshot, allStable: () => snapshots },
      }),
    );
  }
  const query = (
    metric: string,
    {
      functions = [] as string[],
      sent = {},
      visible = undefined as ((labels: Labels) => boolean) | undefined,
    } = {},
  ) => {
    const end = String(endMs / 1000);
    const read = readPathRequest(metric, functions, { start: end, end, ...sent }, clock.wallMs());
    assert.ok('value' in read, JSON.stringify(read));
    const caller = {
      seesAll: visible === undefined,
      visible: visible ?? (() => true),
      budget: new RangeBudget({ clock, signal: new AbortController().signal }),
    };
    const all = (nodes[0] as RangeNodes).nodesFor({} as never);
    const answer = new RangeService({ clock }).answer(read.value, all, caller);
    return answer.then((text) => {
      const { data, errors } = JSON.parse(text);
      return { data: data.map(shown), errors };
    });
  };
  return { query, asked, clock };
}

const shown = ({
  metric,
  values,
}: {
  metric: { nodes: string[]; bucket?: string };
  values: [number, string][];
}) => [metric.nodes.join(' '), metric.bucket ?? '', values[0]?.[1]];

const items = (a: number, b: number) => [
  gauge('kv_curr_items', { bucket: 'a' }, a),
  gauge('kv_curr_items', { bucket: 'b' }, b),
];
const three = { one: items(1, 10), two: items(2, 20), three: items(3, 30) };

test('a range query answers with the series of every node, each with its address', async (t) => {
  const { query } = await aClusterOf({ samples: three }, t);
  assert.deepEqual((await query('kv_curr_items')).data, [
    ['one:8091', 'a', '1'],
    ['one:8091', 'b', '10'],
    ['two:8091', 'a', '2'],
    ['two:8091', 'b', '20'],
    ['three:8091', 'a', '3'],
    ['three:8091', 'b', '30'],
  ]);
  assert.deepEqual((await query('kv_curr_items', { functions: ['sum'] })).data, [
    ['one:8091', '', '11'],
    ['two:8091', '', '22'],
    ['three:8091', '', '33'],
  ]);
});

test('combines the series of nodes that have the same labels', async (t) => {
  const { query } = await aClusterOf({ samples: { ...three, three: [] } }, t);
  const both = 'one:8091 two:8091';
  const expected: Record<string, [string, string]> = {
    sum: ['3', '30'],
    avg: ['1.5', '15'],
    min: ['1', '10'],
    max: ['2', '20'],
  };
  for (const [aggregationFunction, [a, b]] of Object.entries(expected))
    assert.deepEqual((await query('kv_curr_items', { sent: { aggregationFunction } })).data, [
      [both, 'a', a],
      [both, 'b', b],
    ]);
});

test('a range query computes a quantile from the histograms of all nodes', async (t) => {
  const histogram = (low: number, all: number) =>
    [
      ['1', low],
      ['2', all],
      ['+Inf', all],
    ].map(([le, value]) =>
      gauge('kv_disk_seconds_bucket', { bucket: 'a', le: le as string }, value as number),
    );
  const { query } = await aClusterOf({ samples: { one: histogram(0, 1), two: histogram(3, 3) } }, t);
  // Three of the four values of both nodes are at most 1, so the 75th percentile is 1.
  const { data } = await query('kv_disk_seconds_bucket', { sent: { nodesAggregation: 'p75' } });
  assert.deepEqual(data, [['one:8091 two:8091', 'a', '1']]);
});

test('a range query divides the sums of all nodes for the aggregation "special"', async (t) => {
  const read = (hits: number, misses: number) => [
    gauge('kv_ops', { bucket: 'a', op: 'get', result: 'hit' }, hits),
    gauge('kv_ops', { bucket: 'a', op: 'get', result: 'miss' }, misses),
  ];
  const { query } = await aClusterOf({ samples: { one: read(90, 0), two: read(0, 10) } }, t);
  assert.deepEqual((await query('kv_hit_ratio')).data, [
    ['one:8091', 'a', '100'],
    ['two:8091', 'a', '0'],
  ]);
  const special = await query('kv_hit_ratio', { sent: { nodesAggregation: 'special' } });
  assert.deepEqual(special, { data: [['one:8091 two:8091', 'a', '90']], errors: [] });
});

test('a range query names the nodes that are down, do not answer in time, or are of another version', async (t) => {
  const faults = { silent: ['two'], down: ['three'], older: ['four'] };
  const { query, clock } = await aClusterOf({ samples: { ...three, four: [] }, ...faults }, t);
  const pending = query('kv_curr_items', { sent: { timeout: '500' } });
  await runPromises();
  clock.advance(500);
  const { data, errors } = await pending;
  assert.deepEqual(data, [
    ['one:8091', 'a', '1'],
    ['one:8091', 'b', '10'],
  ]);
  assert.deepEqual(errors, [
    { node: 'two:8091', error: 'Request timed out' },
    { node: 'three:8091', error: 'Node is down' },
    { node: 'four:8091', error: 'Unexpected error - this version does not answer "metricsRange"' },
  ]);
});

test('a range query does not ask nodes that were failed over', async (t) => {
  const { query, asked } = await aClusterOf({ samples: three, failedOver: ['three'] }, t);
  assert.equal((await query('kv_curr_items', { functions: ['sum'] })).data.length, 2);
  assert.deepEqual(asked, ['two metricsRange']);
});

test('explains a missing series only where no node has it', async (t) => {
  const { query } = await aClusterOf({ samples: { one: [], two: items(2, 20) } }, t);
  assert.deepEqual((await query('kv_curr_items')).errors, []);
  assert.deepEqual((await query('absent')).errors, [
    { node: 'one:8091', error: 'unknown metric "absent"' },
    { node: 'two:8091', error: 'unknown metric "absent"' },
  ]);
});

test('a range query gets from other nodes only series that the caller may read', async (t) => {
  const samples = {
    one: items(1, 10),
    two: [...items(2, 20), gauge('kv_curr_items', { bucket: 'gone' }, 7)],
  };
  const { query, asked } = await aClusterOf({ samples }, t);
  const visible = ({ bucket }: Labels) => bucket === 'a' || bucket === 'gone';
  assert.deepEqual((await query('kv_curr_items', { functions: ['sum'], visible })).data, [
    ['one:8091', '', '1'],
    ['two:8091', '', '9'],
  ]);
  assert.deepEqual(asked, ['two metricsKeyspaces', 'two metricsRange']);
});

test('a range query shows why a node refuses: too many values', async (t) => {
  const many = Array.from({ length: 100 }, (_, at) => gauge('kv_curr_items', { bucket: `b${at}` }, at));
  const { query } = await aClusterOf({ samples: { one: items(1, 10), two: many } }, t);
  const { data, errors } = await query('kv_curr_items', { sent: { start: '-10900', step: '1' } });
  assert.equal(data.length, 2);
  assert.match(errors[0]?.error, /^more than 1000000 values over all queries of the request/);
  assert.equal(errors[0]?.node, 'two:8091');
});

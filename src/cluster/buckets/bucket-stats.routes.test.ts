// Statistics of a bucket, and of services, in a cluster of several nodes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnavailableError } from '#base/unavailable-error.ts';
import { AppError } from '#contract/errors.ts';
import type { Context } from '#contract/route.ts';
import { testOf } from '#metrics/query/match.ts';
import type { Matcher, Series } from '#metrics/sample.ts';
import { aCluster } from '../../../test/support/cluster.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { StableNodeSnapshot } from '../nodes/node-record.ts';
import type { BucketSeries } from './bucket-series.ts';
import { bucketStatsRoutes } from './bucket-stats.routes.ts';

type Ask = (nodeId: string, name: string, body: unknown) => Promise<unknown>;

function aClusterOfThree(ask: Ask, own: Series[] = [], clock = new ManualClock()) {
  const [self] = aCluster().nodes as [NodeState];
  const nodeRecord = (hostname: string, membership: NodeState['membership'], isThis: boolean) =>
    ({
      node: { ...self, uuid: hostname, hostname, membership },
      isThis,
      isAnswering: true,
    }) as StableNodeSnapshot;
  const all = [
    nodeRecord('one', 'active', true),
    nodeRecord('two', 'active', false),
    nodeRecord('three', 'inactiveFailed', false),
  ];
  const answers = new Map<string, (body: never) => unknown>();
  const matching = (matchers: readonly Matcher[]) => own.filter(({ labels }) => testOf(matchers)(labels));
  const routes = bucketStatsRoutes({
    service: { find: () => ({ name: 'b', type: 'native' }) as never },
    snapshots: { stable: () => all[0] as StableNodeSnapshot, allStable: () => all },
    peers: { ask: ask as never, answer: (name, answer) => void answers.set(name, answer as never) },
    timeSeries: { recent: matching, select: async (matchers) => ({ series: matching(matchers) }) },
    watched: () => {},
    clock,
  });
  const call = async (id: string, node = '', params: object = {}, may: Context['may'] = () => true) => {
    const { handler } = routes.find(({ route }) => route.id === id) ?? assert.fail(id);
    const input = {
      params: { bucket: 'b', node, ...params },
      query: { zoom: 'hour' },
      body: undefined,
      justValidate: false,
    };
    const answer = await handler(input as never, { may } as Context);
    return answer.kind === 'json' ? (answer.value as never) : assert.fail(answer.kind);
  };
  return { call, answers };
}

test('the servers of a bucket are the active nodes, and each has a description of its own', async () => {
  const asked: string[] = [];
  const { call } = aClusterOfThree(async (node) => void asked.push(node));
  const path = (node: string) => `/pools/default/buckets/b/nodes/${node}%3A8091`;
  const server = (node: string) => ({
    hostname: `${node}:8091`,
    uri: path(node),
    stats: { uri: `${path(node)}/stats` },
  });
  assert.deepEqual(await call('buckets.nodes'), { servers: [server('one'), server('two')] });
  assert.deepEqual(await call('buckets.node', 'two:8091'), {
    hostname: 'two:8091',
    bucket: { uri: '/pools/default/buckets/b' },
    stats: { uri: `${path('two')}/stats` },
  });
  await assert.rejects(call('buckets.node', 'three:8091'), AppError);
  assert.deepEqual(asked, [], 'these answers need no other node');
});

test('the statistics of another node come from that node', async () => {
  const queries: unknown[] = [];
  const { call, answers } = aClusterOfThree(async (...request) => {
    queries.push(request.slice(0, 3));
    return { timesMs: [5000], figures: { ops: [7] } };
  });
  const nodeStats = (await call('buckets.node_stats', 'two:8091')) as {
    hostname: string;
    op: { samples: object };
  };
  assert.equal(nodeStats.hostname, 'two:8091');
  assert.deepEqual(nodeStats.op.samples, { ops: [7], timestamp: [5000] });
  const choice = { zoom: 'hour', isForChart: false, figure: null, afterMs: 0 };
  assert.deepEqual(queries, [['two', 'bucketSeries', { bucket: 'b', choice }]]);
  const ownStats = (await call('buckets.node_stats', 'one:8091')) as typeof nodeStats;
  assert.equal(ownStats.hostname, 'one:8091');
  assert.equal(queries.length, 1);
  const answer = (await answers.get('bucketSeries')?.({ bucket: 'b', choice } as never)) as BucketSeries;
  assert.deepEqual([answer.timesMs, answer.figures['curr_items']], [[], []]);
});

test('a request for the statistics of a node that does not answer fails, and names the node', async () => {
  const { call } = aClusterOfThree(() => Promise.reject(new Error('lost')));
  await assert.rejects(call('buckets.node_stats', 'two:8091'), (error) => {
    assert.ok(error instanceof UnavailableError);
    assert.equal(error.message, 'Node ns_1@cb.local does not answer: lost');
    return true;
  });
});

/** A zoom of an hour has a value for each four seconds. */
const stepMs = 4000;

test('the figures of a bucket are the sums over all nodes, and ratios the means', async () => {
  const clock = new ManualClock(1000 * stepMs);
  const series = (name: string, labels: object, values: number[]): Series => ({
    labels: { __name__: name, bucket: 'b', ...labels },
    timesMs: Float64Array.from(values, (_, index) => clock.wallMs() - (values.length - 1 - index) * stepMs),
    values: Float64Array.from(values),
  });
  const own = [
    series('kv_ops', { op: 'set' }, [0, 4, 8, 12]),
    series('kv_ops', { op: 'get', result: 'hit' }, [0, 4, 8, 12]),
    series('kv_curr_items', {}, [1, 2, 3, 4]),
  ];
  // The clock of the other node is a step behind, and it started later.
  const timesMs = [clock.wallMs() - 2 * stepMs, clock.wallMs() - stepMs];
  const other = { timesMs, figures: { curr_items: [20, 30], hit_ratio: [50, 50], only_there: [1, 2] } };
  const { call } = aClusterOfThree(async () => other, own, clock);
  const { op } = (await call('buckets.stats')) as { op: { samples: Record<string, number[]> } };
  assert.deepEqual(op.samples['timestamp'], timesMs);
  const { curr_items, hit_ratio, only_there, cmd_set } = op.samples;
  assert.deepEqual(
    [curr_items, hit_ratio, only_there, cmd_set],
    [
      [22, 33],
      [75, 75],
      [1, 2],
      [1, 1],
    ],
  );
  const stat = (await call('buckets.stat', '', { stat: 'curr_items' })) as { nodeStats: object };
  assert.deepEqual(stat.nodeStats, { 'one:8091': [2, 3], 'two:8091': [20, 30] });
});

test('the sums leave out nodes that do not answer', async () => {
  const { call } = aClusterOfThree(() => Promise.reject(new Error('lost')));
  const { op } = (await call('buckets.stats')) as { op: { samplesCount: number } };
  assert.equal(op.samplesCount, 0);
  const { nodeStats } = (await call('buckets.stat', '', { stat: 'ops' })) as { nodeStats: object };
  assert.deepEqual(Object.keys(nodeStats), ['one:8091']);
});

test('sections of services are shown only with the right to the statistics of the cluster', async () => {
  const asked: unknown[] = [];
  const { call } = aClusterOfThree(async (...request) => {
    asked.push((request[2] as { bucket: string }).bucket);
    return { timesMs: [5000], figures: { query_selects: [7] } };
  });
  const { op } = (await call('buckets.stats', '', { bucket: '@query' })) as { op: { samples: object } };
  assert.deepEqual([asked, op.samples], [['@query'], { query_selects: [7], timestamp: [5000] }]);
  const may = (permission: string) => permission !== 'cluster.stats!read';
  for (const bucket of ['@query', '@index-b'])
    await assert.rejects(call('buckets.stats', '', { bucket }, may), { status: 403 });
});

// Statistics of a bucket by node in a cluster of several nodes.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { UnavailableError } from '#base/unavailable-error.ts';
import { AppError } from '#contract/errors.ts';
import type { Context } from '#contract/route.ts';
import { aCluster } from '../../../test/support/cluster.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { StableNodeSnapshot } from '../nodes/node-record.ts';
import type { BucketSeries } from './bucket-series.ts';
import { bucketStatsRoutes } from './bucket-stats.routes.ts';

type Ask = (nodeId: string, name: string, body: unknown) => Promise<unknown>;

function aClusterOfThree(ask: Ask) {
  const [self] = aCluster().nodes as [NodeState];
  const nodeRecord = (hostname: string, membership: NodeState['membership'], isThis: boolean) =>
    ({ node: { ...self, uuid: hostname, hostname, membership }, isThis }) as StableNodeSnapshot;
  const all = [
    nodeRecord('one', 'active', true),
    nodeRecord('two', 'active', false),
    nodeRecord('three', 'inactiveFailed', false),
  ];
  const answers = new Map<string, (body: never) => unknown>();
  const routes = bucketStatsRoutes({
    service: { find: () => ({ name: 'b', type: 'native' }) as never },
    snapshots: { stable: () => all[0] as StableNodeSnapshot, allStable: () => all },
    peers: { ask: ask as never, answer: (name, answer) => void answers.set(name, answer as never) },
    timeSeries: { recent: () => [], select: async () => ({ series: [] }) },
    watched: () => {},
    clock: new ManualClock(),
  });
  const call = async (id: string, node = '') => {
    const { handler } = routes.find(({ route }) => route.id === id) ?? assert.fail(id);
    const input = {
      params: { bucket: 'b', node },
      query: { zoom: 'hour' },
      body: undefined,
      justValidate: false,
    };
    const answer = await handler(input as never, {} as Context);
    return answer.kind === 'json' ? (answer.value as never) : assert.fail(answer.kind);
  };
  return { call, answers };
}

it('lists every active node, and describes each', async () => {
  const { call } = aClusterOfThree(() => assert.fail('no node is asked'));
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
});

it('asks another node for its series', async () => {
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

it('names a node that does not answer', async () => {
  const { call } = aClusterOfThree(() => Promise.reject(new Error('lost')));
  await assert.rejects(call('buckets.node_stats', 'two:8091'), (error) => {
    assert.ok(error instanceof UnavailableError);
    assert.equal(error.message, 'Node ns_1@cb.local does not answer: lost');
    return true;
  });
});

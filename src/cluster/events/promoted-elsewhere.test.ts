import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ClusterState } from '../config/cluster-state.ts';
import type { Attributes } from './event-kinds.ts';
import { PromotedElsewhere } from './promoted-elsewhere.ts';

/** Node `a` of two, with a bucket of eight shards; `serve` sets of how many shards node `a` is the active. */
function aWatch(served = 4, { hasDataService = true } = {}) {
  const clock = new ManualClock();
  const nodes = [nodeNamed('a'), nodeNamed('b')];
  const [self] = nodes as [ClusterState['nodes'][number]];
  const state: { cluster: ClusterState; self: ClusterState['nodes'][number] } = {
    cluster: aCluster({ nodes }),
    self,
  };
  let changed = (): void => {};
  const recorded: Attributes[] = [];
  const watch = new PromotedElsewhere({
    clock,
    events: { record: (name, attributes) => recorded.push({ name, ...attributes }) },
    view: {
      get cluster() {
        return state.cluster;
      },
      get self() {
        return state.self;
      },
      get dataNodes() {
        return [
          ...(hasDataService && state.self.membership === 'active' ? nodes.slice(0, 1) : []),
          ...nodes.slice(1),
        ];
      },
      liveBuckets: () => [{ uuid: 'u', name: 'b' }] as never,
      map: () => ({
        nodes: ['b', 'a'],
        shards: Array.from({ length: 8 }, (_, shard) => ({
          epoch: 1,
          chain: shard < served ? [1, 0] : [0, 1],
        })),
      }),
      onChange: (listener) => {
        changed = listener;
        return { stop: () => {} };
      },
    },
  });
  watch.start();
  const serve = (count: number, changes: Partial<typeof state> = {}): void => {
    served = count;
    Object.assign(state, changes);
    changed();
  };
  return { clock, recorded, serve, state, watch };
}

test('shards whose copies on other nodes became active are recorded in one event, ten seconds after the last promotion', async () => {
  const { clock, recorded, serve, watch } = aWatch();
  for (const count of [3, 2, 1, 0]) {
    serve(count);
    await clock.advance(9_000);
  }
  assert.deepEqual(recorded, []);
  await clock.advance(1_000);
  const event = { name: 'shards_promoted_elsewhere', bucket: 'b', bucket_uuid: 'u', served: 0, share: 4 };
  assert.deepEqual(recorded, [event]);
  await clock.advance(60_000);
  serve(4);
  serve(4);
  await clock.advance(60_000);
  assert.deepEqual(recorded, [event]);
  serve(3);
  watch.stop();
  await clock.advance(60_000);
  assert.equal(recorded.length, 1);
});

test('shards that others have taken over before the node started are recorded, and those of a balanced bucket are not', async () => {
  const balanced = aWatch();
  await balanced.clock.advance(60_000);
  assert.deepEqual(balanced.recorded, []);
  const { clock, recorded } = aWatch(0);
  await clock.advance(60_000);
  assert.equal(recorded.length, 1);
});

test('nothing is recorded on a node without the data service', async () => {
  const { clock, recorded } = aWatch(0, { hasDataService: false });
  await clock.advance(60_000);
  assert.deepEqual(recorded, []);
});

test('shards that moved in a rebalance or a failover are not recorded, nor those that the node had beyond an equal share', async () => {
  const { clock, recorded, serve, state } = aWatch();
  const { cluster, self } = state;
  const balance = { id: 'p', kind: 'rebalance', term: 1, nodes: [], ejected: [], startedMs: 0 } as const;
  serve(2, { cluster: { ...cluster, balance } });
  await clock.advance(60_000);
  serve(2, { cluster });
  await clock.advance(60_000);
  serve(1);
  serve(1, { self: { ...self, membership: 'inactiveFailed' } });
  await clock.advance(60_000);
  serve(7, { self });
  serve(4);
  await clock.advance(60_000);
  assert.deepEqual(recorded, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { type ClusterState, clusterKey } from '../config/cluster-state.ts';
import type { EngineRecord } from '../joining/join-messages.ts';
import { engineKey, firstRevisionAfter, movedToServers, returnedToFounder } from './engine-record.ts';

const record: EngineRecord = { nodes: ['a', 'b', 'c'], source: 'sealed' };
const recordOf = (key: string, value: unknown, revision: number) => ({
  key,
  json: value === null ? null : JSON.stringify(value),
  revision,
  writes: null,
});

test('the configuration on servers is that of the founder, without a founder and in the next epoch', () => {
  const cluster = aCluster({ founder: 'a', revEpoch: 4, nodes: [nodeNamed('a')] });
  const settings = recordOf('settings/x', { n: 1 }, 7);
  const moved = movedToServers(
    [recordOf(clusterKey, cluster, 3), settings, recordOf('gone', null, 9)],
    record,
  );
  const { founder: _, ...rest } = cluster;
  const state = JSON.parse(moved[0]?.json ?? '') as ClusterState;
  assert.deepEqual(state, { ...rest, revEpoch: 5 });
  assert.deepEqual(moved[1], settings);
  assert.deepEqual([moved.length, moved[2]?.key, moved[2]?.json], [3, engineKey, JSON.stringify(record)]);
  assert.ok(firstRevisionAfter(9) > 9);
});

test('the configuration stays where it is while a node joins or a rebalance runs', () => {
  const nodes = [nodeNamed('a'), nodeNamed('b', { joining: true })];
  const joining = recordOf(clusterKey, aCluster({ nodes }), 3);
  assert.throws(() => movedToServers([joining], record), /a node is joining/);
  const plan = { id: 'p', kind: 'rebalance' as const, term: 0, nodes: [], ejected: [], startedMs: 0 };
  const balancing = recordOf(clusterKey, aCluster({ balance: plan }), 3);
  assert.throws(() => movedToServers([balancing], record), /a rebalance is under way/);
});

test('the configuration of a founder that takes it from servers has their records, the founder and the next epoch', () => {
  const cluster = aCluster({ revEpoch: 4, nodes: [nodeNamed('a'), nodeNamed('b')] });
  const records = [
    recordOf(clusterKey, cluster, 3),
    recordOf('settings/x', { n: 1 }, 7),
    recordOf(engineKey, record, 8),
    recordOf('store/end', {}, 9),
    recordOf('gone', null, 10),
  ];
  const returned = returnedToFounder({ revision: 10, records }, 'b');
  const state = JSON.parse(returned.records[0]?.json ?? '') as ClusterState;
  assert.deepEqual(state, { ...cluster, founder: 'b', revEpoch: 5 });
  assert.deepEqual(returned.records.slice(1), [recordOf('settings/x', { n: 1 }, 7)]);
  assert.equal(returned.epoch, 5);
  // Above every revision that a node can have seen after the last change.
  assert.deepEqual(
    [returned.revision, returned.records[0]?.revision],
    [firstRevisionAfter(10), firstRevisionAfter(10)],
  );
  const failed = aCluster({ nodes: [nodeNamed('a'), nodeNamed('b', { membership: 'inactiveFailed' })] });
  const unusable = [recordOf(clusterKey, failed, 3)];
  assert.throws(() => returnedToFounder({ revision: 3, records: unusable }, 'b'), /node b is not active/);
});

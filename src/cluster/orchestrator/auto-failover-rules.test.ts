import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aCluster } from '../../../test/support/cluster.ts';
import { planned, stable } from '../../../test/support/moving-shards.ts';
import type { BucketMap, NodeState } from '../config/cluster-state.ts';
import { decideFailover, type FailoverSituation } from './auto-failover-rules.ts';

const node = (id: string, services = ['kv']): NodeState => ({
  ...(aCluster().nodes[0] as NodeState),
  uuid: id,
  otpNode: `ns_1@${id}`,
  services,
});

/** Nodes by letters; those after a colon are down, for long enough. */
function decided(names: string, changes: Partial<FailoverSituation> = {}) {
  const [all = '', down = ''] = names.split(':').map((part) => part.trim());
  const active = all.split(' ').map((id) => (id.startsWith('q') ? node(id, ['n1ql']) : node(id)));
  const downIds = down.split(' ').filter((id) => id !== '');
  const { failing, notices } = decideFailover({
    active,
    down: downIds,
    ready: downIds,
    reached: active.length - downIds.length,
    maxCount: 100,
    count: 0,
    buckets: [],
    preservesDurable: true,
    ...changes,
  });
  return [failing.join(' '), ...notices.map(({ kind, text }) => `${kind}: ${text}`)];
}

const bucket = (names: string, replicas: number, change = (map: BucketMap) => map) => ({
  buckets: [{ name: 'b', map: change(stable(planned(names, replicas))) }],
});

describe('the rules of automatic failover', () => {
  it('fail over one node or several at once while a majority is reached', () => {
    assert.deepEqual(decided('a b c:'), ['']);
    assert.deepEqual(decided('a b c: c'), ['c']);
    assert.deepEqual(decided('a b c d e: d e'), ['d e']);
  });

  it('fail over nothing without a majority', () => {
    const text = 'Could not contact majority of servers. Orchestration may be compromised.';
    assert.deepEqual(decided('a b: b'), [
      '',
      `auto_failover_node: Could not automatically fail over nodes (['ns_1@b']). ${text}`,
    ]);
    assert.deepEqual(decided('a b c d: c d'), [
      '',
      `auto_failover_node: Could not automatically fail over nodes (['ns_1@c','ns_1@d']). ${text}`,
    ]);
  });

  it('count a third data node once the rebalance that activated it has completed', () => {
    const small = (id: string): string =>
      `auto_failover_cluster_too_small: Could not auto-failover node ('ns_1@${id}'). Number of remaining nodes that are running data service is 1. You need at least 2 nodes.`;
    const newly = (...ids: string[]) =>
      ['a', 'b', 'c', 'd'].map((id) => ({
        ...node(id),
        ...(ids.includes(id) && { newlyActive: true as const }),
      }));
    const [a, b, c, d] = newly('c') as [NodeState, NodeState, NodeState, NodeState];
    assert.deepEqual(decided('a b c: b', { active: [a, b, c] }), ['', small('b')]);
    assert.deepEqual(decided('a b c: c', { active: [a, b, c] }), ['c']);
    assert.deepEqual(decided('a b c d: b', { active: [a, b, c, d] }), ['b']);
  });

  it('keep two data nodes', () => {
    assert.deepEqual(decided('a b q1 q2: b'), [
      '',
      "auto_failover_cluster_too_small: Could not auto-failover node ('ns_1@b'). Number of remaining nodes that are running data service is 1. You need at least 2 nodes.",
    ]);
  });

  it('count a data node that is down for a shorter time as missing', () => {
    const [failing, notice] = decided('a b c q1 q2: c', { down: ['b', 'c'] });
    assert.equal(failing, '');
    assert.match(notice ?? '', /data service is 1/);
  });

  it('keep one node of each other service, and fail none of them over while a failed data node cannot be failed over', () => {
    assert.deepEqual(decided('a b q1 q2: q1'), ['q1']);
    assert.deepEqual(decided('a b q1: q1'), [
      '',
      "auto_failover_cluster_too_small: Could not auto-failover node ('ns_1@q1'). Number of remaining nodes that are running query service is 0. You need at least 1 nodes.",
    ]);
    const [failing, , service] = decided('a b q1 q2 q3: b q1');
    assert.equal(failing, '');
    assert.equal(
      service,
      "auto_failover_other_nodes_down: Could not auto-failover service node ('ns_1@q1'). One of the data service nodes cannot be automatically failed over.",
    );
  });

  it('stop at the maximum, with the nodes that exceed it', () => {
    const excess = (names: string, max: number) =>
      `auto_failover_maximum_reached: Could not auto-failover more nodes ([${names}]). Maximum number of auto-failover nodes (${max}) has been reached.`;
    assert.deepEqual(decided('a b c: c', { maxCount: 1 }), ['c']);
    assert.deepEqual(decided('a b c d e: d e', { maxCount: 1 }), ['d', excess("'ns_1@e'", 1)]);
    assert.deepEqual(decided('a b c d: d', { maxCount: 2, count: 2 }), ['', excess("'ns_1@d'", 2)]);
    assert.deepEqual(decided('a b c d: d', { maxCount: 1, count: 2 }), ['', excess("'ns_1@d'", 1)]);
  });

  it('never lose the last copy of a shard', () => {
    assert.deepEqual(decided('a b c: c', bucket('a b c', 1)), ['c']);
    assert.deepEqual(decided('a b c: c', bucket('a b c', 0)), [
      '',
      `auto_failover_node: Could not automatically fail over nodes (['ns_1@c']). Would lose vbuckets in the following buckets: ["b"]`,
    ]);
    assert.deepEqual(decided('a b c: c', bucket('a b', 0)), ['c'], 'node c has no documents');
  });

  it('keep the copies that durable writes need, unless the settings give them up', () => {
    const behind = bucket('a b c', 1, (map) => ({
      ...map,
      shards: map.shards.map((shard) => ({
        ...shard,
        inSync: (shard.inSync ?? []).filter(([member]) => member === shard.chain[0]),
      })),
    }));
    assert.deepEqual(decided('a b c: c', behind), [
      '',
      `auto_failover_node: Could not automatically fail over nodes (['ns_1@c']). Nodes ['ns_1@c'] needed to preserve durability writes on buckets ["b"] are down`,
    ]);
    assert.deepEqual(decided('a b c: c', { ...behind, preservesDurable: false }), ['c']);
  });
});

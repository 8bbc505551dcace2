import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aSeed, type Random } from '../../../test/support/random.ts';
import type { BucketMap } from '../config/cluster-state.ts';
import { type DataNode, planMap } from './plan-map.ts';
import { mapOnOneNode, shardCount } from './vbucket-map.ts';

const nodesNamed = (names: string, group = 'Group 1'): DataNode[] =>
  names.split(' ').map((id) => ({ id, group }));

/** How many shards each planned node holds at these positions of their chains: 0 is the active. */
const counts = ({ nodes, shards }: BucketMap, members: readonly number[]): number[] =>
  nodes.map(
    (_, node) => shards.filter(({ chain }) => members.some((member) => chain[member] === node)).length,
  );

const spreadOf = (numbers: readonly number[]): number => Math.max(...numbers) - Math.min(...numbers);

const idsOf = (map: BucketMap, shard: number): (string | undefined)[] =>
  map.shards[shard]?.chain.map((position) => map.nodes[position]) ?? [];

/** How many copies must be filled for the change. */
function fills(before: BucketMap, after: BucketMap): number {
  return after.shards.reduce((sum, _, shard) => {
    const had = idsOf(before, shard);
    return sum + idsOf(after, shard).filter((id) => id !== undefined && !had.includes(id)).length;
  }, 0);
}

const activesMoved = (before: BucketMap, after: BucketMap): number =>
  after.shards.filter((_, shard) => idsOf(before, shard)[0] !== idsOf(after, shard)[0]).length;

function checkRules(map: BucketMap, nodes: readonly DataNode[], replicas: number): void {
  const copies = Math.min(replicas + 1, nodes.length);
  const all = Array.from({ length: replicas + 1 }, (_, member) => member);
  assert.equal(map.shards.length, shardCount);
  assert.deepEqual(
    map.nodes,
    nodes.map(({ id }) => id),
  );
  for (const { chain } of map.shards) {
    assert.equal(chain.length, replicas + 1);
    const present = chain.filter((node) => node !== -1);
    assert.deepEqual(chain.slice(copies), chain.slice(copies).fill(-1), 'missing copies come last');
    assert.equal(new Set(present).size, copies, `a node holds a shard twice, or a copy is missing: ${chain}`);
    const groups = new Set(present.map((node) => nodes[node]?.group));
    const groupCount = new Set(nodes.map(({ group }) => group)).size;
    assert.equal(groups.size, Math.min(copies, groupCount), `not in as many groups as possible: ${chain}`);
  }
  assert.ok(spreadOf(counts(map, [0])) <= 1, `actives: ${counts(map, [0])}`);
  const sizes = new Set(Object.values(Object.groupBy(nodes, ({ group }) => group)).map((of) => of?.length));
  if (sizes.size === 1) assert.ok(spreadOf(counts(map, all)) <= 1, `copies: ${counts(map, all)}`);
}

/** Up to three groups, of equal or different sizes. */
function someNodes(random: Random): DataNode[] {
  const groups = 1 + random(3);
  return Array.from({ length: groups + random(8) }, (_, i) => ({ id: `n${i}`, group: `g${i % groups}` }));
}

describe('the plan of a map', () => {
  it('puts everything on the only node', () => {
    assert.deepEqual(planMap({ nodes: nodesNamed('a'), replicas: 0, current: null }), mapOnOneNode('a'));
    const map = planMap({ nodes: nodesNamed('a'), replicas: 2, current: null });
    assert.deepEqual(map.shards[0]?.chain, [0, -1, -1]);
  });

  it('is balanced, uses each server group, and gives the same map for the same input', (t) => {
    const random = aSeed(t);
    for (let round = 0; round < 20; round++) {
      const replicas = random(4);
      const [first, second] = [someNodes(random), someNodes(random)];
      const initial = planMap({ nodes: first, replicas: random(4), current: null });
      const map = planMap({ nodes: second, replicas, current: initial });
      checkRules(map, second, replicas);
      assert.deepEqual(planMap({ nodes: second, replicas, current: initial }), map);
      assert.deepEqual(
        planMap({ nodes: second, replicas, current: map }),
        map,
        'another plan does not change a planned map',
      );
    }
  });

  it('fills no more copies than added, removed and swapped nodes require', (t) => {
    const random = aSeed(t);
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    for (let round = 0; round < 20; round++) {
      const replicas = random(4);
      const before = names.slice(0, 2 + random(4));
      const after = [...before.slice(random(2)), ...names.slice(6, 6 + random(3))];
      const first = planMap({ nodes: nodesNamed(before.join(' ')), replicas, current: null });
      const second = planMap({ nodes: nodesNamed(after.join(' ')), replicas, current: first });
      const all = Array.from({ length: replicas + 1 }, (_, member) => member);
      const had = new Map(first.nodes.map((id, node) => [id, counts(first, all)[node] as number]));
      const lacking = counts(second, all).map((count, node) =>
        Math.max(0, count - (had.get(second.nodes[node] as string) ?? 0)),
      );
      const least = lacking.reduce((sum, count) => sum + count, 0);
      assert.equal(fills(first, second), least, `${before} to ${after}, ${replicas} replicas`);
    }
  });

  it('moves to an added node only as many actives as its share', () => {
    const before = planMap({ nodes: nodesNamed('a b'), replicas: 1, current: null });
    const after = planMap({ nodes: nodesNamed('a b c'), replicas: 1, current: before });
    const received = counts(after, [0])[2] as number;
    assert.ok(received === 21 || received === 22);
    assert.equal(activesMoved(before, after), received);
    assert.equal(fills(before, after), counts(after, [0, 1])[2]);
  });

  it('gives the shards of a removed node to the node that replaces it', () => {
    const before = planMap({ nodes: nodesNamed('a b c'), replicas: 1, current: null });
    const after = planMap({ nodes: nodesNamed('a b d'), replicas: 1, current: before });
    assert.equal(fills(before, after), counts(before, [0, 1])[2]);
    assert.equal(activesMoved(before, after), counts(before, [0])[2]);
  });

  it('makes a replica active rather than filling a copy, when the active is gone', () => {
    const before = planMap({ nodes: nodesNamed('a b c d'), replicas: 1, current: null });
    const after = planMap({ nodes: nodesNamed('a b c'), replicas: 1, current: before });
    const orphans = before.shards.flatMap((_, shard) => (idsOf(before, shard)[0] === 'd' ? [shard] : []));
    const promoted = orphans.filter((shard) => idsOf(after, shard)[0] === idsOf(before, shard)[1]);
    // The other shards move to keep the map balanced.
    assert.ok(promoted.length >= 13, `${promoted.length} of ${orphans.length}`);
  });

  it('gives a shard without any copy a new node, and keeps the epochs', () => {
    const current: BucketMap = {
      nodes: ['gone', 'a'],
      shards: Array.from({ length: shardCount }, (_, shard) => ({ epoch: shard + 3, chain: [-1, -1] })),
    };
    const map = planMap({ nodes: nodesNamed('a b'), replicas: 1, current });
    checkRules(map, nodesNamed('a b'), 1);
    assert.deepEqual(
      map.shards.map(({ epoch }) => epoch),
      current.shards.map(({ epoch }) => epoch),
    );
  });

  it("spreads the replicas of a node's shards over the others", () => {
    const map = planMap({ nodes: nodesNamed('a b c d'), replicas: 1, current: null });
    for (const active of [0, 1, 2, 3]) {
      const replicas = new Set(
        map.shards.filter(({ chain }) => chain[0] === active).map(({ chain }) => chain[1]),
      );
      assert.equal(replicas.size, 3, `replicas of node ${active}`);
    }
  });

  it('separates two copies by group with groups of different sizes', () => {
    const nodes = [...nodesNamed('a b c', 'one'), ...nodesNamed('d', 'two')];
    const map = planMap({ nodes, replicas: 1, current: null });
    checkRules(map, nodes, 1);
    assert.equal(counts(map, [0, 1])[3], shardCount, 'one copy of each shard is in the small group');
  });

  it('follows the rules also for 64 nodes', () => {
    const nodes = Array.from({ length: 64 }, (_, i) => ({ id: `n${i}`, group: `g${i % 4}` }));
    checkRules(planMap({ nodes, replicas: 3, current: null }), nodes, 3);
  });
});

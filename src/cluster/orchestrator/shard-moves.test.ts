import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planned, reacted, stable } from '../../../test/support/moving-shards.ts';
import { aSeed, type Random } from '../../../test/support/random.ts';
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';
import { advance, endMoves, isComplete, progressOf, startMoves, stopMoves } from './shard-moves.ts';

/** Checks what each write of the orchestrator to a map must leave, so that no acknowledged write is lost. */
function checkStep(before: BucketMap, after: BucketMap): void {
  after.shards.forEach((shard, index) => {
    const old = before.shards[index] as ShardPlacement;
    const [active = -1] = shard.chain;
    const oldSync = old.inSync?.map(([node]) => node) ?? [old.chain[0]];
    assert.ok(shard.epoch === old.epoch || shard.epoch === old.epoch + 1, 'epochs rise one by one');
    if (active !== old.chain[0]) {
      assert.equal(shard.epoch, old.epoch + 1, 'another active has another epoch');
      assert.ok(oldSync.includes(active), 'only a member of the in-sync set is promoted');
      assert.equal(old.stopped, old.epoch, 'the old active has stopped');
      assert.equal(shard.confirmed, undefined);
      assert.deepEqual(shard.inSync, old.inSync, 'a promotion leaves the in-sync set as it is');
    }
    const remaining = shard.inSync?.map(([node]) => node) ?? [active];
    assert.ok(remaining.includes(active), 'the active is in its in-sync set');
    const removed = oldSync.filter((node) => !remaining.includes(node as number));
    assert.deepEqual(removed, [], 'only the active removes members of the in-sync set, not the orchestrator');
  });
}

const chainsById = (map: BucketMap): (string | undefined)[][] =>
  map.shards.map(({ chain }) => chain.map((node) => map.nodes[node]));

function runToEnd(
  start: BucketMap,
  random: Random,
  movesPerNode: number,
): { map: BucketMap; rounds: number } {
  let map = start;
  for (let rounds = 0; rounds < 3_000; rounds++) {
    if (isComplete(map)) return { map: endMoves(map), rounds };
    const next = advance(map, movesPerNode);
    if (next) checkStep(map, next);
    checkLimit(next ?? map, movesPerNode);
    map = reacted(next ?? map, random, 40);
  }
  return assert.fail('the moves do not complete');
}

function checkLimit({ nodes, shards }: BucketMap, movesPerNode: number): void {
  for (const [node] of nodes.entries()) {
    const moving = shards.filter(
      ({ chain, incoming = [], successor }) =>
        (incoming.length > 0 || successor !== undefined) && [...chain, ...incoming].includes(node),
    );
    assert.ok(moving.length <= movesPerNode, `${moving.length} moves of node ${node}`);
  }
}

describe('moves of shards', () => {
  it('lead to the planned map, step by step, with the limit of moves for each node', (t) => {
    const random = aSeed(t);
    const clusters = ['a', 'a b', 'a b c', 'b c d', 'c d', 'd'];
    for (let round = 0; round < 12; round++) {
      const from = stable(planned(clusters[random(clusters.length)] as string, random(3)));
      const to = clusters[random(clusters.length)] as string;
      const replicas = random(3);
      const target = planned(to, replicas, from);
      const movesPerNode = 1 + random(8);
      const { map } = runToEnd(startMoves(from, target, 'plan'), random, movesPerNode);
      assert.deepEqual(chainsById(map), chainsById(target), `${from.nodes} to ${to}, ${replicas} replicas`);
      assert.equal(map.forward, undefined);
      assert.ok(
        map.shards.every(({ incoming, successor }) => incoming === undefined && successor === undefined),
      );
      assert.ok(
        map.shards.every(({ inSync, chain }) => inSync?.length === chain.filter((node) => node >= 0).length),
      );
    }
  });

  it('complete only what is under way when they are stopped, and leave every shard with an active that serves', (t) => {
    const random = aSeed(t);
    for (let round = 0; round < 12; round++) {
      let map = startMoves(stable(planned('a b', 1)), planned('b c', 1, stable(planned('a b', 1))), 'plan');
      for (let steps = random(20); steps > 0; steps--) map = reacted(advance(map, 8) ?? map, random, 40);
      const stopped = stopMoves(map);
      const { map: end } = runToEnd(stopped, random, 64);
      assert.ok(
        end.shards.every(({ confirmed, stopped: at, epoch }) => confirmed !== undefined && at !== epoch),
      );
      const moved = chainsById(end).filter((chain, shard) => chain.join() !== chainsById(map)[shard]?.join());
      assert.ok(moved.length <= 8 * 3, `${moved.length} shards moved on`);
    }
  });

  it('continue for a shard whose active has stopped for its successor already', () => {
    const from = stable(planned('a', 0));
    let map = startMoves(from, planned('b', 0, from), 'plan');
    for (let steps = 0; steps < 2; steps++) map = reacted(advance(map, 1) ?? map, () => 0, 100);
    const promoted = map.shards.findIndex(({ stopped, epoch }) => stopped === epoch);
    assert.notEqual(promoted, -1);
    const { map: end } = runToEnd(stopMoves(map), () => 0, 1);
    chainsById(end).forEach((chain, shard) => {
      assert.deepEqual(chain, [shard === promoted ? 'b' : 'a']);
    });
    assert.equal(end.shards[promoted]?.epoch, 2, 'moved once');
  });

  it('report what is done, in all and by node', () => {
    const from = stable(planned('a', 0));
    const map = startMoves(from, planned('a b', 0, from), 'plan');
    assert.deepEqual(progressOf(map), {
      all: { done: 32, total: 64 },
      byNode: { a: { done: 32, total: 64 }, b: { done: 0, total: 32 } },
    });
    const { map: end } = runToEnd(map, () => 0, 4);
    assert.deepEqual(progressOf(end).byNode, { a: { done: 32, total: 32 }, b: { done: 32, total: 32 } });
  });

  it('give a shard that lost all copies to a new node, empty', () => {
    const lost: BucketMap = {
      ...stable(planned('a b', 0)),
      shards: Array.from({ length: 64 }, () => ({ epoch: 5, chain: [-1] })),
    };
    const map = advance(startMoves(lost, planned('a b', 0, lost), 'plan'), 64);
    assert.ok(map?.shards.every(({ epoch, chain, inSync }) => epoch === 6 && chain[0] !== -1 && !inSync));
  });

  it('name the successor once every planned copy is in sync, and withdraw it when one leaves', () => {
    const from = stable(planned('a b', 1));
    const map = advance(startMoves(from, planned('c b', 1, from), 'plan'), 64) as BucketMap;
    assert.ok(map.shards.every(({ successor }) => successor === undefined));
    const index = map.shards.findIndex(
      (shard) => shard.incoming?.includes(2) === true && shard.chain[0] === 0,
    );
    const moving = map.shards[index] as ShardPlacement;
    const withSet = (positions: number[]): BucketMap => {
      const inSync = positions.map((position) => [position, `boot ${position}`] as const);
      return { ...map, shards: map.shards.with(index, { ...moving, inSync }) };
    };
    const named = advance(withSet([0, 1, 2]), 64) as BucketMap;
    assert.equal(named.shards[index]?.successor, 2);
    const shard = {
      ...(named.shards[index] as ShardPlacement),
      inSync: withSet([0, 2]).shards[index]?.inSync ?? [],
    };
    const withdrawn = advance({ ...named, shards: named.shards.with(index, shard) }, 64) as BucketMap;
    assert.equal(withdrawn.shards[index]?.successor, undefined);
    assert.equal(advance(withdrawn, 64), null);
  });

  it('begin in the same write in which earlier ones complete', () => {
    const from = stable(planned('a', 0));
    let map = advance(startMoves(from, planned('b', 0, from), 'plan'), 4);
    const moving = () => map?.shards.flatMap(({ incoming }, shard) => (incoming ? [shard] : []));
    assert.deepEqual(moving(), [0, 1, 2, 3]);
    while (map?.shards[0]?.chain[0] !== 1 || map.shards[0].confirmed === undefined)
      map = reacted(advance(map as BucketMap, 4) ?? (map as BucketMap), () => 0, 100);
    map = advance(map, 4);
    assert.deepEqual(moving(), [4, 5, 6, 7]);
  });

  it('wait for the confirmation of the active, and for copies that are not in sync', () => {
    const from = stable(planned('a b', 1));
    const { confirmed: _, ...unconfirmed } = from.shards[0] as ShardPlacement;
    const waiting = { ...from, shards: from.shards.map(() => unconfirmed) };
    const target = planned('b c', 1, from);
    assert.equal(advance(startMoves(waiting, target, 'plan'), 64), null);
    const filling = advance(startMoves(from, target, 'plan'), 64);
    assert.ok(filling);
    assert.equal(advance(filling, 64), null, 'copies are filling');
  });

  it('promote another member of the in-sync set when an active has stopped by itself', () => {
    const from = stable(planned('a b', 1));
    const stopped = from.shards.map((shard, index) => {
      const { confirmed: _, ...rest } = shard;
      return index === 0 ? { ...rest, stopped: shard.epoch } : shard;
    });
    const map = advance({ ...from, shards: stopped }, 4);
    const [before, after] = [from.shards[0] as ShardPlacement, map?.shards[0]];
    assert.deepEqual([after?.epoch, after?.chain], [before.epoch + 1, [...before.chain].reverse()]);
    assert.equal(map?.shards[1], from.shards[1]);
  });

  it('make the same node the active again when it has stopped and no other member is in sync', () => {
    const from = stable(planned('a b', 1));
    const [first] = from.shards as [ShardPlacement];
    const { confirmed: _, ...rest } = first;
    const alone = { ...rest, stopped: 1, inSync: (first.inSync ?? []).slice(0, 1) };
    const map = advance({ ...from, shards: [alone, ...from.shards.slice(1)] }, 4);
    assert.deepEqual([map?.shards[0]?.epoch, map?.shards[0]?.chain], [2, first.chain]);
  });

  it('keep the last active of a shard when they end, also if its node is no longer in the map', () => {
    const lastActive = { node: 'b', epoch: 1 };
    const shard: ShardPlacement = { epoch: 2, chain: [1], inSync: [[1, 'boot']], lastActive };
    const ended = endMoves({ nodes: ['gone', 'a', 'b'], shards: [shard] });
    assert.deepEqual(ended, { nodes: ['a'], shards: [{ ...shard, chain: [0], inSync: [[0, 'boot']] }] });
  });
});

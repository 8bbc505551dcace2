import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planned, stable } from '../../../test/support/moving-shards.ts';
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';
import { failoverMap, type ShardPosition, withoutNodes } from './failover-map.ts';

const at = (epoch: number, seqno: number): ShardPosition => ({ epoch, seqno });
const unknown = () => null;

/** One shard on nodes a to d, as it is after a failover. */
function failedOver(
  shard: ShardPlacement,
  failed: string,
  options: { positions?: Record<string, ShardPosition>; allowUnsafe?: boolean; restarted?: string } = {},
) {
  const map: BucketMap = { nodes: ['a', 'b', 'c', 'd'], shards: [shard] };
  const { positions, allowUnsafe = false, restarted = '' } = options;
  const hasRestarted = (node: string): boolean => restarted.split(' ').includes(node);
  const position = positions ? (node: string) => positions[node] ?? null : unknown;
  const result = failoverMap(map, { failed: failed.split(' '), position, hasRestarted, allowUnsafe });
  return { ...result, shard: result.map.shards[0] as ShardPlacement };
}

const placement: ShardPlacement = {
  epoch: 4,
  chain: [0, 1, 2],
  confirmed: 'boot a',
  inSync: [
    [0, 'boot a'],
    [1, 'boot b'],
    [2, 'boot c'],
  ],
};

describe('failover of a map', () => {
  it('promotes a member of the in-sync set with the next epoch, and leaves the set as it is', () => {
    const { shard, unsafe, lost } = failedOver(placement, 'a');
    const { confirmed: _, ...rest } = placement;
    assert.deepEqual(shard, { ...rest, epoch: 5, chain: [1, 2, -1], lastActive: { node: 'a', epoch: 4 } });
    assert.deepEqual([unsafe, lost], [[], []]);
  });

  it('promotes the member that is furthest, by epoch and then by seqno', () => {
    const positions = { b: at(3, 900), c: at(4, 20) };
    assert.deepEqual(failedOver(placement, 'a', { positions }).shard.chain, [2, 1, -1]);
    const even = { b: at(4, 21), c: at(4, 20) };
    assert.deepEqual(failedOver(placement, 'a', { positions: even }).shard.chain, [1, 2, -1]);
    assert.deepEqual(failedOver(placement, 'a', { positions: { c: at(1, 1) } }).shard.chain, [2, 1, -1]);
  });

  it('keeps `lastActive`, the last node that confirmed that it is active, where the node promoted in its place fails before it confirms', () => {
    const { shard } = failedOver(placement, 'a');
    assert.deepEqual(failedOver(shard, 'b').shard.lastActive, { node: 'a', epoch: 5 });
    const confirmed = { ...shard, confirmed: 'boot b' };
    assert.deepEqual(failedOver(confirmed, 'b').shard.lastActive, { node: 'b', epoch: 5 });
    assert.deepEqual(failedOver(shard, 'b', { allowUnsafe: true }).shard.lastActive, { node: 'a', epoch: 5 });
    // The epoch does not fit: a node of an older version did the last failover, and left `lastActive`, which it does not know, unchanged.
    assert.equal(failedOver({ ...shard, epoch: 6 }, 'b').shard.lastActive, undefined);
    assert.equal(
      failedOver({ ...shard, inSync: [[0, 'boot a']] }, 'b', { allowUnsafe: true }).shard.lastActive,
      undefined,
    );
  });

  it('keeps the last active in place of an active whose disk lacks some of the shard, unless an unsafe failover gives it up', () => {
    const unwritten: ShardPlacement = { ...placement, lastActive: { node: 'c', epoch: 4 } };
    assert.deepEqual(failedOver(unwritten, 'a').shard.lastActive, { node: 'c', epoch: 4 });
    assert.deepEqual(failedOver(unwritten, 'c').shard, { ...unwritten, chain: [0, 1, -1] });
    const inSync = placement.inSync?.slice(0, 2) ?? [];
    const given = failedOver(unwritten, 'c', { allowUnsafe: true });
    assert.deepEqual(given.shard, { ...placement, chain: [0, 1, -1], inSync });
    assert.deepEqual(given.unsafe, [], 'the active has all that was acknowledged');
    const ofOldVersion = { ...unwritten, lastActive: { node: 'c', epoch: 3 } };
    assert.deepEqual(failedOver(ofOldVersion, 'a').shard.lastActive, { node: 'a', epoch: 4 });
  });

  it('takes a failed replica out of the chain, and leaves its active and the in-sync set alone', () => {
    const { shard } = failedOver(placement, 'b');
    assert.deepEqual(shard, { ...placement, chain: [0, 2, -1] });
    assert.deepEqual(failedOver(placement, 'd').shard, placement);
  });

  it('never promotes a copy that is not in sync, unless that is allowed', () => {
    const behind: ShardPlacement = { ...placement, inSync: [[0, 'boot a']] };
    const refused = failedOver(behind, 'a');
    assert.deepEqual([refused.shard, refused.unsafe], [behind, [0]]);
    const allowed = failedOver(behind, 'a', { allowUnsafe: true, positions: { c: at(4, 7), b: at(4, 6) } });
    assert.deepEqual(allowed.shard, { epoch: 5, chain: [2, 1, -1] });
    assert.deepEqual(allowed.unsafe, [0]);
    const { inSync: _, ...alone } = placement;
    assert.deepEqual(failedOver(alone, 'a').unsafe, [0], 'without a set the active alone is in sync');
  });

  it('leaves failed nodes out of the in-sync set where that is allowed, so that the new active need not wait for them after a restart', () => {
    const { shard } = failedOver(placement, 'a', { allowUnsafe: true });
    assert.deepEqual(shard.inSync, [
      [1, 'boot b'],
      [2, 'boot c'],
    ]);
  });

  it('leaves failed members in the in-sync set while a restarted active waits for them, unless their removal is allowed', () => {
    const restarted = 'a c';
    const refused = failedOver(placement, 'b', { restarted });
    assert.deepEqual([refused.shard, refused.unsafe], [placement, [0]]);
    const { shard, unsafe } = failedOver(placement, 'b', { restarted, allowUnsafe: true });
    const inSync = placement.inSync?.filter(([member]) => member !== 1);
    assert.deepEqual([shard, unsafe], [{ ...placement, chain: [0, 2, -1], inSync }, [0]]);
    const whole = failedOver(placement, 'b', { restarted: 'a', allowUnsafe: true });
    assert.deepEqual([whole.shard.inSync, whole.unsafe], [placement.inSync, []], 'node c serves it');
  });

  it('leaves a shard without any copy empty', () => {
    const { shard, lost } = failedOver({ epoch: 2, chain: [0, -1] }, 'a');
    assert.deepEqual([shard, lost], [{ epoch: 3, chain: [-1, -1], lastHolders: ['a'] }, [0]]);
    assert.deepEqual(failedOver(placement, 'a b c').lost, [0]);
    const partly: ShardPlacement = {
      epoch: 2,
      chain: [1, 0, 2],
      inSync: [
        [1, 'boot b'],
        [2, 'boot c'],
      ],
    };
    assert.deepEqual(
      failedOver(partly, 'a b c').shard.lastHolders,
      ['b', 'c', 'a'],
      'members of the set first',
    );
  });

  it('may promote incoming copies during a move, and drops those of failed nodes', () => {
    const moving: ShardPlacement = {
      epoch: 4,
      chain: [0],
      incoming: [1, 2],
      successor: 1,
      confirmed: 'boot a',
      inSync: [
        [0, 'boot a'],
        [1, 'boot b'],
      ],
    };
    assert.deepEqual(failedOver(moving, 'a').shard, {
      epoch: 5,
      chain: [1],
      incoming: [2],
      inSync: moving.inSync,
      lastActive: { node: 'a', epoch: 4 },
    });
    const { successor: _, ...rest } = moving;
    assert.deepEqual(failedOver(moving, 'b').shard, { ...rest, incoming: [2] });
    assert.deepEqual(failedOver(moving, 'c').shard, { ...moving, incoming: [1] });
  });

  it('leaves each shard on its other nodes, without new copies, when it is graceful', () => {
    const map = stable(planned('a b c', 1));
    const goal = withoutNodes(map, ['a']);
    goal.shards.forEach(({ chain }, index) => {
      const others = (map.shards[index] as ShardPlacement).chain.filter((node) => map.nodes[node] !== 'a');
      assert.deepEqual(chain, others.length === 2 ? others : [...others, -1]);
    });
  });
});

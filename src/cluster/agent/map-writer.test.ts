import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UnwritableError } from '#base/unwritable-error.ts';
import type { MapOutcome, ShardChange } from '#kv/admin.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { FaultyConfigStore, StoreHistory } from '../../../test/support/faulty-config-store.ts';
import { randomFrom } from '../../../test/support/random.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { type BucketMap, mapKey, type ShardPlacement } from '../config/cluster-state.ts';
import { MapWriter } from './map-writer.ts';

const key = mapKey('b');

/** A map of one shard for nodes `one`, `two` and `three`, and the writer of a process of node `one` with boot `first`. */
async function aWriter(placement: ShardPlacement, bootId = 'first', goal?: readonly number[]) {
  const clock = new SimulatedClock();
  const server = new MemoryConfigStore();
  const history = await StoreHistory.recording(server);
  const store = new FaultyConfigStore({ server, history, clock, random: randomFrom(1) });
  const forward = goal && { forward: { plan: 'p', chains: [goal] } };
  const map: BucketMap = { nodes: ['one', 'two', 'three'], shards: [placement], ...forward };
  await server.put(key, map, 0);
  const writer = new MapWriter({ store, clock, identity: { nodeId: 'one', bootId } });
  const change = (...changes: ShardChange[]): Promise<MapOutcome> =>
    clock.until(writer.change({ bucketUuid: 'b', changes }));
  const stored = async () => (await server.get<BucketMap>(key))?.value.shards[0];
  return { change, stored, server, store };
}

const promoted: ShardPlacement = {
  epoch: 4,
  chain: [0, 1],
  inSync: [
    [0, 'first'],
    [1, 'second'],
  ],
};
const serving: ShardPlacement = { ...promoted, confirmed: 'first' };
/** After node `one` has stopped serving the shard. */
const stoppedHere: ShardPlacement = { ...promoted, stopped: 4, lastActive: { node: 'one', epoch: 4 } };
/** Node `three` receives a copy. */
const filling: ShardPlacement = { ...serving, incoming: [2] };
const joinThree: ShardChange = {
  shard: 0,
  epoch: 4,
  kind: 'join',
  member: { node: 'three', boot: 'third' },
};

describe('the writer of a map', () => {
  it('confirms the epoch in which the map names this process', async () => {
    const { change, stored } = await aWriter({ ...promoted, stopped: 3 });
    const outcome = await change({ shard: 0, epoch: 4, kind: 'confirm' });
    assert.deepEqual(outcome, {
      kind: 'done',
      revision: 2,
      shards: [
        {
          state: 'active',
          epoch: 4,
          replicas: ['two'],
          active: 'one',
          confirmed: 'first',
          inSync: [
            { node: 'one', boot: 'first' },
            { node: 'two', boot: 'second' },
          ],
        },
      ],
    });
    assert.deepEqual(await stored(), serving);
  });

  it('does not confirm for a process whose memory may lack what the in-sync set acknowledged', async () => {
    const { change, stored } = await aWriter(promoted, 'after a restart');
    const { kind } = await change({ shard: 0, epoch: 5, kind: 'confirm' });
    assert.equal(kind, 'refused');
    assert.deepEqual(await stored(), promoted);
  });

  it('confirms the next epoch after a restart where the in-sync set has no other member', async () => {
    const alone: ShardPlacement = { epoch: 4, chain: [0, 1], inSync: [[0, 'first']], confirmed: 'first' };
    const { change, stored } = await aWriter(alone, 'after a restart');
    assert.equal(
      (await change({ shard: 0, epoch: 4, kind: 'confirm' })).kind,
      'refused',
      'the epoch is taken',
    );
    assert.equal((await change({ shard: 0, epoch: 5, kind: 'confirm' })).kind, 'done');
    assert.deepEqual(await stored(), {
      ...alone,
      epoch: 5,
      confirmed: 'after a restart',
      inSync: [[0, 'after a restart']],
    });
  });

  it('replaces in the in-sync set the process that it continues, and no other', async () => {
    const confirm = { shard: 0, epoch: 5, kind: 'confirm' } as const;
    const { change, stored } = await aWriter(
      { ...promoted, lastActive: { node: 'two', epoch: 3 } },
      'after a stop',
    );
    assert.equal((await change({ ...confirm, continues: 'an earlier one' })).kind, 'refused');
    assert.equal((await change({ ...confirm, continues: 'first' })).kind, 'done');
    const inSync = [
      [0, 'after a stop'],
      [1, 'second'],
    ];
    assert.deepEqual(await stored(), { ...promoted, epoch: 5, confirmed: 'after a stop', inSync });
  });

  it('refuses to confirm an epoch that is over, that stopped, or that names another node', async () => {
    const over = await aWriter(promoted);
    assert.equal((await over.change({ shard: 0, epoch: 3, kind: 'confirm' })).kind, 'refused');
    const stopped = await aWriter({ ...promoted, stopped: 4 });
    assert.equal((await stopped.change({ shard: 0, epoch: 4, kind: 'confirm' })).kind, 'refused');
    const other = await aWriter({ ...promoted, chain: [1, 0] });
    assert.equal((await other.change({ shard: 0, epoch: 4, kind: 'confirm' })).kind, 'refused');
  });

  it('lets members join and leave, and replaces the boot of a member', async () => {
    const { change, stored } = await aWriter(filling);
    await change(joinThree);
    await change({ shard: 0, epoch: 4, kind: 'leave', node: 'two' });
    await change({ ...joinThree, kind: 'join', member: { node: 'three', boot: 'fourth' } });
    const inSync = [
      [0, 'first'],
      [2, 'fourth'],
    ];
    assert.deepEqual(await stored(), { ...filling, inSync });
  });

  it('refuses a member to which the map gives no copy, since it may have removed what it reported', async () => {
    const { change, stored } = await aWriter(serving);
    assert.equal((await change(joinThree)).kind, 'refused');
    assert.deepEqual(await stored(), serving);
  });

  it('changes nothing for an active whose epoch is over or that has not confirmed', async () => {
    for (const changed of [{ confirmed: undefined }, { epoch: 5 }, { confirmed: 'second' }]) {
      const placement = { ...filling, ...changed } as ShardPlacement;
      const { change, stored } = await aWriter(placement);
      assert.equal((await change(joinThree)).kind, 'refused');
      assert.deepEqual(await stored(), JSON.parse(JSON.stringify(placement)));
    }
  });

  it('makes all changes of a request or none', async () => {
    const { change, stored } = await aWriter(filling);
    const { kind } = await change(joinThree, { shard: 0, epoch: 3, kind: 'leave', node: 'two' });
    assert.equal(kind, 'refused');
    assert.deepEqual(await stored(), filling);
  });

  it('reports that the active stopped, after which only a later epoch is confirmed', async () => {
    const { change, stored } = await aWriter(serving);
    assert.equal((await change({ shard: 0, epoch: 4, kind: 'stop' })).kind, 'done');
    assert.deepEqual(await stored(), stoppedHere);
    assert.equal((await change({ shard: 0, epoch: 4, kind: 'confirm' })).kind, 'refused');
  });

  it('records a complete handover with its epoch, and removes the record of an earlier one', async () => {
    const { change, stored } = await aWriter({ ...serving, handedOver: 2 });
    const stop = { shard: 0, epoch: 4, kind: 'stop', successor: 'two' } as const;
    const outcome = await change({ ...stop, isComplete: true });
    assert.deepEqual(await stored(), { ...stoppedHere, handedOver: 4, epoch: 5, chain: [1, 0] });
    assert.equal(outcome.kind === 'done' && outcome.shards[0]?.isHandedOver, true);
    const restarted = await aWriter({ ...serving, handedOver: 2 }, 'after a restart');
    await restarted.change(stop);
    assert.deepEqual(await restarted.stored(), { ...stoppedHere, epoch: 5, chain: [1, 0] });
  });

  it('removes the nodes that a shard leaves when it confirms a complete handover, and only then', async () => {
    const inSync = [...(promoted.inSync ?? []), [2, 'third'] as const];
    const confirm = { shard: 0, epoch: 4, kind: 'confirm' } as const;
    const moving: ShardPlacement = { ...promoted, inSync, incoming: [2], stopped: 3, handedOver: 3 };
    const moved = await aWriter(moving, 'first', [0, 1]);
    await moved.change(confirm);
    assert.deepEqual(await moved.stored(), serving);
    const { handedOver: _, stopped: __, ...rest } = moving;
    const kept = { ...rest, confirmed: 'first' };
    for (const [placement, goal] of [
      [{ ...rest, stopped: 3 }, [0, 1]],
      [{ ...moving, handedOver: 2 }, [0, 1]],
      [moving, [0, 2]],
      [moving, undefined],
    ] as const) {
      const { change, stored } = await aWriter(placement, 'first', goal);
      await change(confirm);
      assert.deepEqual(await stored(), kept);
    }
    const restarted = await aWriter({ ...moving, chain: [0], incoming: [1, 2] }, 'after a restart', [0]);
    await restarted.change({ ...confirm, restarted: ['two', 'three'] });
    assert.deepEqual(
      (await restarted.stored())?.incoming,
      [1, 2],
      'a copy was removed whose disk may have more than the active',
    );
    const few: ShardPlacement = { ...moving, inSync: inSync.filter(([position]) => position !== 1) };
    const small = await aWriter(few, 'first', [0, 1]);
    await small.change(confirm);
    assert.deepEqual(await small.stored(), { ...kept, inSync: few.inSync }, 'one of two is no majority');
  });

  it('names the planned active when the last planned copy joins', async () => {
    for (const [goal, successor] of [
      [[2, 1], { successor: 2 }],
      [[2, 0], { successor: 2 }],
      [[0, 2], {}],
    ] as const) {
      const { change, stored } = await aWriter(filling, 'first', goal);
      await change(joinThree);
      const inSync = [...(filling.inSync ?? []), [2, 'third']];
      assert.deepEqual(await stored(), { ...filling, inSync, ...successor });
    }
    const { change, stored } = await aWriter(
      { ...filling, incoming: [1, 2], chain: [0, -1], inSync: [[0, 'first']] },
      'first',
      [2, 1],
    );
    await change(joinThree);
    assert.equal((await stored())?.successor, undefined, 'another copy is not in sync yet');
  });

  it('makes a member the active in place of one that restarted', async () => {
    const { change, stored } = await aWriter(serving, 'after a restart');
    assert.equal((await change({ shard: 0, epoch: 4, kind: 'stop', successor: 'three' })).kind, 'done');
    assert.deepEqual(await stored(), stoppedHere, 'no member');
    const other = await aWriter(serving, 'after a restart');
    assert.equal((await other.change({ shard: 0, epoch: 4, kind: 'stop', successor: 'two' })).kind, 'done');
    assert.deepEqual(await other.stored(), { ...stoppedHere, epoch: 5, chain: [1, 0] });
  });

  it('names another member in place of one that was promoted and restarted before it confirmed', async () => {
    const three = (epoch: number) => ({ stopped: 3, lastActive: { node: 'three', epoch } });
    for (const [before, after] of [[{}, {}] as const, [three(3), three(4)] as const]) {
      const { change, stored } = await aWriter({ ...promoted, ...before }, 'after a restart');
      const stop = { shard: 0, epoch: 4, kind: 'stop' } as const;
      assert.equal((await change({ ...stop, successor: 'three' })).kind, 'refused');
      assert.equal((await change({ ...stop, successor: 'two' })).kind, 'done');
      assert.deepEqual(
        await stored(),
        { ...promoted, ...after, epoch: 5, chain: [1, 0] },
        'the promoted node counts as the last active although it has not served',
      );
    }
  });

  it('confirms after a restart of all members, and removes the others from the in-sync set', async () => {
    const { change, stored } = await aWriter(serving, 'after a restart');
    const confirm = { shard: 0, epoch: 5, kind: 'confirm' } as const;
    assert.equal((await change({ ...confirm, restarted: ['three'] })).kind, 'refused');
    assert.equal((await change({ ...confirm, restarted: ['two'] })).kind, 'done');
    const inSync = [[0, 'after a restart']];
    assert.deepEqual(await stored(), { ...promoted, epoch: 5, confirmed: 'after a restart', inSync });
  });

  it('keeps the last active while the disk of the confirmed one lacks some of the shard', async () => {
    const before: ShardPlacement = { ...promoted, lastActive: { node: 'two', epoch: 3 } };
    const { change, stored } = await aWriter(before);
    await change({ shard: 0, epoch: 4, kind: 'confirm', isUnwritten: true });
    const kept = { ...serving, lastActive: { node: 'two', epoch: 4 } };
    assert.deepEqual(await stored(), kept);
    const leave = { shard: 0, epoch: 4, kind: 'leave', node: 'two' } as const;
    assert.equal((await change(leave)).kind, 'refused', 'only its disk may have what was acknowledged');
    await change({ shard: 0, epoch: 4, kind: 'written' });
    assert.deepEqual(await stored(), serving);
    assert.equal((await change(leave)).kind, 'done');
    const both = await aWriter(kept);
    assert.equal((await both.change({ ...leave, isWritten: true })).kind, 'done');
    assert.deepEqual(await both.stored(), { ...serving, inSync: serving.inSync?.slice(0, 1) });
  });

  it('keeps no last active of an epoch that does not fit, of this node, or outside of the in-sync set', async () => {
    for (const [inSync, lastActive] of [
      [promoted.inSync, { node: 'two', epoch: 2 }],
      [promoted.inSync, { node: 'one', epoch: 3 }],
      [promoted.inSync, undefined],
      [[[0, 'first']], { node: 'two', epoch: 3 }],
    ] as const) {
      const before = { ...promoted, inSync, ...(lastActive && { lastActive }) } as ShardPlacement;
      const { change, stored } = await aWriter(before);
      await change({ shard: 0, epoch: 4, kind: 'confirm', isUnwritten: true });
      assert.deepEqual(await stored(), { ...serving, inSync });
    }
  });

  it('keeps the nodes that a shard leaves until the disk of the new active has the shard', async () => {
    const inSync = [...(promoted.inSync ?? []), [2, 'third'] as const];
    const handedOver = { stopped: 3, handedOver: 3, lastActive: { node: 'three', epoch: 3 } };
    const moving: ShardPlacement = { ...promoted, inSync, incoming: [2], ...handedOver };
    const { change, stored } = await aWriter(moving, 'first', [0, 1]);
    await change({ shard: 0, epoch: 4, kind: 'confirm', isUnwritten: true });
    const lastActive = { node: 'three', epoch: 4 };
    assert.deepEqual(await stored(), { ...serving, inSync, incoming: [2], lastActive });
    await change({ shard: 0, epoch: 4, kind: 'written', by: 'two' });
    assert.deepEqual((await stored())?.lastActive, { node: 'two', epoch: 4 });
    assert.equal((await change({ shard: 0, epoch: 4, kind: 'written', by: 'four' })).kind, 'refused');
  });

  it('passes a shard on with the last active that it has kept, and lets no other node continue', async () => {
    const unwritten: ShardPlacement = { ...serving, lastActive: { node: 'two', epoch: 4 } };
    const { change, stored } = await aWriter(unwritten, 'after a restart');
    const confirm = { shard: 0, epoch: 5, kind: 'confirm', restarted: ['two'] } as const;
    assert.equal((await change(confirm)).kind, 'refused', 'the disk of node two has more');
    await change({ shard: 0, epoch: 4, kind: 'stop', successor: 'two' });
    const lastActive = { node: 'two', epoch: 4 };
    assert.deepEqual(await stored(), { ...promoted, epoch: 5, chain: [1, 0], stopped: 4, lastActive });
  });

  it('keeps what others write at the same time', async () => {
    const { change, server, stored, store } = await aWriter(filling);
    const put = store.put.bind(store);
    let isFirst = true;
    store.put = async (...args) => {
      const entry = isFirst ? await server.get<BucketMap>(key) : null;
      isFirst = false;
      if (entry)
        await server.put(key, { ...entry.value, nodes: [...entry.value.nodes, 'four'] }, entry.revision);
      return put(...args);
    };
    assert.equal((await change(joinThree)).kind, 'done');
    assert.equal((await server.get<BucketMap>(key))?.value.nodes.length, 4);
    assert.equal((await stored())?.inSync?.length, 3);
  });

  it('reports that a change was not made where that is certain', async () => {
    const { change, store, stored } = await aWriter(serving);
    // Always sent, also to a store that cannot be written.
    const stop: ShardChange = { shard: 0, epoch: 4, kind: 'stop' };
    store.isDown = true;
    assert.equal((await change(stop)).kind, 'notMade', 'the map was not read');
    store.isDown = false;
    const put = store.put.bind(store);
    store.put = () =>
      Promise.reject(new UnwritableError('Nothing was changed: the disk is full.', { isUnchanged: true }));
    assert.deepEqual(await change(stop), {
      kind: 'notMade',
      reason: 'Nothing was changed: the disk is full.',
    });
    store.put = async () => null;
    assert.equal((await change(stop)).kind, 'notMade', 'other writers were first at every attempt');
    store.put = put;
    assert.deepEqual(await stored(), serving);
  });

  it('reports an unknown outcome, and shows by an empty change what the map holds', async () => {
    const { change, store } = await aWriter(filling);
    store.faults = { ...store.faults, lostAnswerPercent: 100 };
    assert.equal((await change(joinThree)).kind, 'unknown');
    store.faults = { ...store.faults, lostAnswerPercent: 0 };
    const outcome = await change();
    assert.equal(outcome.kind, 'done');
    assert.equal(outcome.kind === 'done' && outcome.revision, 3, 'the map was written again');
    assert.equal(outcome.kind === 'done' && outcome.shards[0]?.inSync?.length, 3);
  });
});

// What a rebalance does with shards that a failover has lost, since all nodes that had them have failed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planned, stable } from '../../../test/support/moving-shards.ts';
import { cluster, plan } from '../../../test/support/rebalanced-cluster.ts';
import { type BucketMap, mapKey } from '../config/cluster-state.ts';

describe('the rebalancer', () => {
  it('begins lost shards anew on the only node that is left, and leaves the others as they are', async () => {
    const { server, orchestrator, change, untilEnded, map, state } = await cluster('a', 'a');
    const entry = (await server.get<BucketMap>(mapKey('first'))) ?? assert.fail('no map');
    const kept = entry.value.shards.map(({ epoch }) => ({ epoch, chain: [0, -1] }));
    const lost = { epoch: 4, chain: [-1, -1] };
    await server.put(mapKey('first'), { ...entry.value, shards: [lost, ...kept.slice(1)] }, entry.revision);
    await orchestrator(0);
    await change({ balance: plan({ nodes: ['a'], term: 0 }) });
    await untilEnded();
    assert.equal((await state()).lastBalance?.outcome, 'completed');
    const after = (await map('first')).shards.map(({ epoch, chain }) => ({ epoch, chain }));
    assert.deepEqual(after, [{ epoch: 5, chain: [0] }, ...kept.slice(1)]);
  });

  it('continues lost shards on failed nodes that return with their files', async () => {
    const { server, orchestrator, change, untilEnded, map, state } = await cluster('a b c', 'a b c');
    const entry = (await server.get<BucketMap>(mapKey('first'))) ?? assert.fail('no map');
    const before = stable(planned('a b c', 0));
    await server.put(mapKey('first'), before, entry.revision);
    await orchestrator(1, 'a');
    const failing = ['b', 'c'];
    await change({ balance: plan({ kind: 'failover', nodes: ['a'], failing, allowUnsafe: true }) });
    await untilEnded();
    const lost = (await map('first')).shards.flatMap(({ chain }, shard) => (chain[0] === -1 ? [shard] : []));
    assert.ok(lost.length > 32);
    const firstNodes = new Map<number, string | undefined>();
    const watch = await server.watch(mapKey('first'), (_, changed) => {
      if (changed === null) return;
      const { nodes, shards } = changed.value as BucketMap;
      for (const shard of lost) {
        const active = shards[shard]?.chain[0] ?? -1;
        if (active >= 0 && !firstNodes.has(shard)) firstNodes.set(shard, nodes[active]);
      }
    });
    const nodes = (await state()).nodes.map((node) => ({
      ...node,
      membership: 'active' as const,
      ...(failing.includes(node.uuid) && { keepsCopies: true as const }),
    }));
    await change({ nodes, balance: plan({ id: 'next', nodes: ['a', 'b', 'c'] }) });
    await untilEnded();
    watch.stop();
    assert.equal((await state()).lastBalance?.outcome, 'completed');
    const holderOf = (shard: number) => before.nodes[before.shards[shard]?.chain[0] ?? -1];
    assert.deepEqual(
      lost.map((shard) => firstNodes.get(shard)),
      lost.map(holderOf),
    );
  });
});

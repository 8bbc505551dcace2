import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import { managedCluster } from '../../../test/support/manager.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { plan } from '../../../test/support/rebalanced-cluster.ts';
import { type BucketMap, mapKey, type NodeState, type ShardPlacement } from '../config/cluster-state.ts';

async function managed(...nodes: NodeState[]) {
  const cluster = await managedCluster(nodes);
  const call = async (path: string, form: Record<string, string> | [string, string][]) => {
    const { status, text } = await cluster.request(`/controller/${path}`, { form });
    return [status, text];
  };
  return { ...cluster, call };
}

describe('hard failover', () => {
  it('is refused for no, unknown, inactive and last nodes, in the published words', async (t) => {
    const query = nodeNamed('query', { services: ['n1ql'] });
    const added = nodeNamed('added', { membership: 'inactiveAdded' });
    const { call, state, manager } = await managed(query, added);
    t.after(() => manager.stop());
    for (const path of ['failOver', 'startFailover']) {
      assert.deepEqual(await call(path, {}), [400, 'No server specified.']);
      assert.deepEqual(await call(path, { otpNode: 'ns_1@x' }), [400, 'Unknown server given: ["ns_1@x"]']);
      assert.deepEqual(await call(path, { otpNode: 'ns_1@added' }), [400, 'Inactive server given.']);
      assert.deepEqual(await call(path, { otpNode: 'ns_1@cb.local', allowUnsafe: 'true' }), [
        400,
        'Last active node cannot be failed over.',
      ]);
      assert.equal((await call(path, { otpNode: 'ns_1@query', allowUnsafe: '1' }))[0], 400);
    }
    assert.equal((await state()).balance, undefined);
  });

  it('needs a majority of the active nodes, and allowUnsafe in a cluster of two data nodes', async (t) => {
    const { call, state, manager } = await managed(nodeNamed('b'));
    t.after(() => manager.stop());
    assert.deepEqual(await call('startFailover', { otpNode: 'ns_1@b' }), [
      504,
      'Cannot safely perform a failover at the moment',
    ]);
    assert.equal((await state()).balance, undefined);
    assert.deepEqual(await call('startFailover', { otpNode: 'ns_1@b', allowUnsafe: 'true' }), [200, '']);
    const { kind, failing, allowUnsafe } = (await state()).balance ?? {};
    assert.deepEqual([kind, failing, allowUnsafe], ['failover', ['b'], true]);
    assert.deepEqual(await call('startFailover', { otpNode: 'ns_1@b', allowUnsafe: 'true' }), [
      503,
      'Rebalance running.',
    ]);
  });

  it('counts a third data node once the rebalance that activated it has completed', async (t) => {
    const { call, state, change, manager, request } = await managed(nodeNamed('b'));
    t.after(() => manager.stop());
    const form = { name: 'x', ramQuota: '100', replicaNumber: '1' };
    assert.equal((await request('/pools/default/buckets', { form })).status, 202);
    const added = nodeNamed('c', { newlyActive: true });
    await change((before) => ({ ...before, nodes: [...before.nodes, added] }));
    const refused = [504, 'Cannot safely perform a failover at the moment'];
    assert.deepEqual(
      await call('startFailover', { otpNode: 'ns_1@b' }),
      refused,
      'b may consider itself one of two data nodes, and go on serving',
    );
    assert.deepEqual(
      await call('startFailover', { otpNode: 'ns_1@c' }),
      [200, ''],
      'c, added last, knows all three data nodes',
    );
    await change(({ balance: _, ...rest }) => ({
      ...rest,
      nodes: [...rest.nodes.slice(0, 2), nodeNamed('c')],
    }));
    assert.deepEqual(await call('startFailover', { otpNode: 'ns_1@b' }), [200, '']);
    assert.deepEqual((await state()).balance?.failing, ['b']);
  });

  it('answers failOver with the outcome, once the failover has ended', async (t) => {
    const { call, state, change, manager } = await managed(nodeNamed('b'));
    t.after(() => manager.stop());
    for (const [end, ...answer] of [
      [{ outcome: 'stopped' }, 409, 'Stopped by user.'],
      [{ outcome: 'failed', reason: 'No.' }, 500, 'Unexpected server error: No.'],
      [{ outcome: 'completed' }, 200, ''],
    ] as const) {
      const answered = call('failOver', { otpNode: 'ns_1@b', allowUnsafe: 'true' });
      await eventually(async () => assert.ok((await state()).balance));
      await change(({ balance, ...rest }) => ({
        ...rest,
        lastBalance: { id: balance?.id ?? '', kind: 'failover', endedMs: 0, ...end },
      }));
      assert.deepEqual(await answered, answer);
    }
    for (const [membership, status] of [
      ['active', 500],
      ['inactiveFailed', 200],
    ] as const) {
      const answered = call('failOver', { otpNode: 'ns_1@b', allowUnsafe: 'true' });
      await eventually(async () => assert.ok((await state()).balance));
      // The end of a later plan, which arrived with that of this one.
      await change(({ balance: _, ...rest }) => ({
        ...rest,
        nodes: rest.nodes.map((node) => (node.otpNode === 'ns_1@b' ? { ...node, membership } : node)),
        lastBalance: { id: 'later', kind: 'rebalance', endedMs: 0, outcome: 'completed' },
      }));
      assert.equal((await answered)[0], status);
    }
  });

  it('takes several nodes at once', async (t) => {
    const { call, state, manager } = await managed(nodeNamed('b'), nodeNamed('c'));
    t.after(() => manager.stop());
    const both: [string, string][] = [
      ['otpNode', 'ns_1@b'],
      ['otpNode', 'ns_1@c'],
      ['allowUnsafe', 'true'],
    ];
    assert.deepEqual(await call('startFailover', both), [200, '']);
    assert.deepEqual((await state()).balance?.failing, ['b', 'c']);
  });
});

describe('graceful failover', () => {
  const path = 'startGracefulFailover';

  it('is refused for no, unknown, inactive and last nodes, and without the data service', async (t) => {
    const query = nodeNamed('query', { services: ['n1ql'] });
    const added = nodeNamed('added', { membership: 'inactiveAdded' });
    const { call, state, manager } = await managed(query, added);
    t.after(() => manager.stop());
    for (const [otpNode, text] of [
      ['', 'No server specified.'],
      ['ns_1@x', 'Unknown server given: ["ns_1@x"]'],
      ['ns_1@added', 'Inactive server given.'],
      ['ns_1@cb.local', 'Last active node cannot be failed over.'],
      [
        'ns_1@query',
        'Failover cannot be done gracefully for a node without data service. Use hard failover.',
      ],
    ])
      assert.deepEqual(await call(path, { otpNode: otpNode as string }), [400, text]);
    assert.equal((await state()).balance, undefined);
  });

  it('is refused where a shard has no other copy, and planned where all have one', async (t) => {
    const { call, state, manager, store, request } = await managed(nodeNamed('b'));
    t.after(() => manager.stop());
    const form = { name: 'x', ramQuota: '100', replicaNumber: '1' };
    assert.equal((await request('/pools/default/buckets', { form })).status, 202);
    const [{ uuid }] = (await request('/pools/default/buckets')).body;
    const possible = async () =>
      Object.values((await request('/nodeStatuses')).body as Record<string, object>).map(
        (status) => (status as { gracefulFailoverPossible?: boolean }).gracefulFailoverPossible,
      );
    assert.equal((await possible())[0], true);
    const { value, revision } = (await store.get<BucketMap>(mapKey(uuid))) ?? assert.fail('no map');
    const [first, ...others] = value.shards as [ShardPlacement, ...ShardPlacement[]];
    const alone = { ...first, chain: [value.nodes.indexOf('b'), -1] };
    await store.put(mapKey(uuid), { ...value, shards: [alone, ...others] }, revision);
    assert.deepEqual(await call(path, { otpNode: 'ns_1@b' }), [
      400,
      'Failover cannot be done gracefully (would lose vbuckets).',
    ]);
    assert.deepEqual(await call(path, { otpNode: 'ns_1@cb.local' }), [200, '']);
    const { kind, failing, nodes } = (await state()).balance ?? {};
    assert.deepEqual([kind, failing, nodes], ['gracefulFailover', [ownNodeId], ['b']]);
    assert.deepEqual((await state()).counters, { graceful_failover_start: 1 });
    assert.deepEqual(await call(path, { otpNode: 'ns_1@cb.local' }), [503, 'Rebalance running.']);
  });
});

describe('nodes that were failed over', () => {
  it('can be marked for full or delta recovery, and as failed over again', async (t) => {
    const { call, state, manager } = await managed(nodeNamed('b', { membership: 'inactiveFailed' }));
    t.after(() => manager.stop());
    const node = async () => {
      const { membership, recovery } = (await state()).nodes[1] as NodeState;
      return [membership, recovery];
    };
    const otpNode = 'ns_1@b';
    assert.deepEqual(await call('setRecoveryType', { otpNode, recoveryType: 'delta' }), [200, '[]']);
    assert.deepEqual(await node(), ['inactiveAdded', 'delta']);
    assert.deepEqual(await call('reAddNode', { otpNode }), [200, '[]']);
    assert.deepEqual(await node(), ['inactiveAdded', 'full']);
    assert.deepEqual(await call('reFailOver', { otpNode }), [200, '']);
    assert.deepEqual(await node(), ['inactiveFailed', undefined]);
    assert.deepEqual(await call('reFailOver', { otpNode }), [400, '']);
  });

  it('cancel the retry of a rebalance that would eject them, as soon as they are marked', async (t) => {
    const { call, change, state, manager } = await managed(nodeNamed('b', { membership: 'inactiveFailed' }));
    t.after(() => manager.stop());
    const retry = { id: 'failed', nodes: [ownNodeId], ejected: ['b'], dueMs: 9e15, attemptsLeft: 1 };
    const otpNode = 'ns_1@b';
    for (const [path, form] of [
      ['setRecoveryType', { otpNode, recoveryType: 'full' }],
      ['reFailOver', { otpNode }],
    ] as const) {
      await change((before) => ({ ...before, retry }));
      assert.deepEqual((await call(path, form))[0], 200);
      assert.equal((await state()).retry, undefined, path);
    }
  });

  it('are not recovered while a rebalance runs that ejects them', async (t) => {
    const { call, change, state, manager } = await managed(nodeNamed('b', { membership: 'inactiveFailed' }));
    t.after(() => manager.stop());
    const balance = plan({ nodes: [ownNodeId], ejected: ['b'], term: 5 });
    await change((before) => ({ ...before, balance }));
    const form = { otpNode: 'ns_1@b', recoveryType: 'delta' };
    assert.deepEqual(await call('setRecoveryType', form), [503, 'Rebalance running.']);
    assert.equal((await state()).nodes[1]?.recovery, undefined);
  });

  it('are recovered by delta recovery only with documents or indexes', async (t) => {
    const out = { membership: 'inactiveFailed' } as const;
    const { call, manager } = await managed(
      nodeNamed('query', { ...out, services: ['n1ql'] }),
      nodeNamed('index', { ...out, services: ['index'] }),
    );
    t.after(() => manager.stop());
    const recover = async (otpNode: string, recoveryType: string) =>
      (await call('setRecoveryType', { otpNode, recoveryType }))[0];
    assert.equal(await recover('ns_1@query', 'delta'), 400);
    assert.equal(await recover('ns_1@query', 'full'), 200);
    assert.equal(await recover('ns_1@index', 'delta'), 200);
  });

  it('are not recovered under an invalid name or with an invalid kind of recovery', async (t) => {
    const { call, manager } = await managed(nodeNamed('b', { membership: 'inactiveAdded' }));
    t.after(() => manager.stop());
    const type = '{"recoveryType":"recovery type must be either \'delta\' or \'full\'"}';
    const node = '{"otpNode":"invalid node name or node can\'t be used for delta recovery"}';
    for (const [form, body] of [
      [{ otpNode: 'ns_1@b' }, type],
      [{ otpNode: 'ns_1@b', recoveryType: 'none' }, type],
      [{ otpNode: 'ns_1@b', recoveryType: 'full' }, node],
      [{ otpNode: 'ns_1@cb.local', recoveryType: 'full' }, node],
      [{ recoveryType: 'full' }, node],
    ] as const)
      assert.deepEqual(await call('setRecoveryType', form), [400, body]);
  });
});

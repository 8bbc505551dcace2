import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aCluster } from '../../../test/support/cluster.ts';
import { managedCluster } from '../../../test/support/manager.ts';
import type { BucketMap, NodeState, RebalancePlan } from '../config/cluster-state.ts';

const second: NodeState = {
  ...(aCluster().nodes[0] as NodeState),
  uuid: 'second',
  otpNode: 'n_1@127.0.0.1',
  hostname: null,
  membership: 'inactiveAdded',
};
const names = 'ns_1@cb.local,n_1@127.0.0.1';

async function managed(nodes: readonly NodeState[] = [second]) {
  const cluster = await managedCluster(nodes);
  const start = (form: Record<string, string>) => cluster.request('/controller/rebalance', { form });
  return { ...cluster, start };
}

const plan: RebalancePlan = {
  id: 'plan',
  kind: 'rebalance',
  term: 9,
  nodes: ['second'],
  ejected: [],
  startedMs: 0,
};

describe('rebalance requests', () => {
  it('write a plan, and make added nodes active', async (t) => {
    const { start, state, manager, request } = await managed();
    t.after(() => manager.stop());
    const answer = await start({ knownNodes: names, ejectedNodes: '' });
    assert.deepEqual([answer.status, answer.text], [200, '']);
    const { balance, nodes } = await state();
    assert.deepEqual([balance?.kind, balance?.nodes.length, balance?.ejected], ['rebalance', 2, []]);
    assert.deepEqual(
      nodes.map(({ membership, newlyActive }) => [membership, newlyActive]),
      [
        ['active', undefined],
        ['active', true],
      ],
    );
    const pool = (await request('/pools/default')).body;
    assert.deepEqual([pool.rebalanceStatus, pool.balanced], ['running', false]);
    const { body } = await request('/pools/default/rebalanceProgress');
    assert.deepEqual(body, {
      status: 'running',
      'ns_1@cb.local': { progress: 0 },
      'n_1@127.0.0.1': { progress: 0 },
    });
    assert.equal(
      (await start({ knownNodes: names })).status,
      200,
      'a second request for the running rebalance is refused',
    );
    assert.equal((await state()).balance?.id, balance?.id);
  });

  it('keep buckets from being created, changed, deleted and flushed meanwhile', async (t) => {
    const { change, manager, request, state } = await managed();
    t.after(() => manager.stop());
    const buckets = '/pools/default/buckets';
    const form = { name: 'b', ramQuota: '100', flushEnabled: '1' };
    assert.equal((await request(buckets, { form })).status, 202);
    await change((before) => ({ ...before, balance: plan }));
    const created = await request(buckets, { form: { ...form, name: 'c' } });
    assert.deepEqual([created.status, created.body], [503, { _: 'Cannot create buckets during rebalance' }]);
    const edited = await request(`${buckets}/b`, { form: { ramQuota: '101' } });
    assert.deepEqual([edited.status, edited.text], [503, 'Cannot update bucket while rebalance is running.']);
    const flushed = await request(`${buckets}/b/controller/doFlush`, { method: 'POST' });
    assert.deepEqual([flushed.status, flushed.body], [503, { _: 'Cannot flush buckets during rebalance' }]);
    const deleted = await request(`${buckets}/b`, { method: 'DELETE' });
    assert.deepEqual(
      [deleted.status, deleted.body],
      [503, { _: 'Cannot delete buckets during rebalance.\r\n' }],
    );
    await change(({ balance: _, ...before }) => before);
    assert.equal((await request(`${buckets}/b`, { form: { ramQuota: '101' } })).status, 200);
    assert.equal((await state()).counters, undefined);
  });

  it('are counted where the cluster shows its counters', async (t) => {
    const { start, manager, request } = await managed();
    t.after(() => manager.stop());
    const counters = async () => (await request('/pools/default')).body.counters;
    assert.deepEqual(await counters(), {});
    await start({ knownNodes: names });
    assert.deepEqual(await counters(), { rebalance_start: 1 });
  });

  it('are refused before anything is written', async (t) => {
    const query: NodeState = { ...second, uuid: 'third', otpNode: 'n_2@127.0.0.1', services: ['n1ql'] };
    const { start, state, change, manager } = await managed([query]);
    t.after(() => manager.stop());
    const knownNodes = 'ns_1@cb.local,n_2@127.0.0.1';
    for (const [form, body] of [
      [{ knownNodes: '' }, '{"empty_known_nodes":1}'],
      [{ knownNodes: 'ns_1@cb.local' }, '{"mismatch":1}'],
      [{ knownNodes, ejectedNodes: 'ns_1@x' }, '{"mismatch":1}'],
      [{ knownNodes, ejectedNodes: knownNodes }, 'No active nodes left'],
      [{ knownNodes, ejectedNodes: 'ns_1@cb.local' }, '{"noKVNodesLeft":1}'],
    ] as const) {
      const answer = await start(form);
      assert.deepEqual([answer.status, answer.text], [400, body]);
    }
    await change((now) => ({ ...now, founder: 'third' }));
    const answer = await start({ knownNodes, ejectedNodes: 'n_2@127.0.0.1' });
    assert.match(answer.text, /stores the configuration/);
    await change((now) => ({
      ...now,
      nodes: now.nodes.map((node) => ({ ...node, joining: true as const })),
    }));
    // Also where the configuration would have to move first.
    for (const ejectedNodes of ['', 'n_2@127.0.0.1'])
      assert.match(
        (await start({ knownNodes, ejectedNodes })).text,
        /^The node ns_1@cb.local is still being added/,
      );
    assert.equal((await state()).balance, undefined);
  });

  it('also remove nodes that were failed over without a kind of recovery', async (t) => {
    const failed: NodeState = { ...second, membership: 'inactiveFailed' };
    const { start, state, change, manager } = await managed([failed]);
    t.after(() => manager.stop());
    await start({ knownNodes: names });
    assert.deepEqual((await state()).balance?.ejected, ['second']);
    for (const recovery of ['full', 'delta'] as const) {
      await change(({ balance: _, nodes, ...rest }) => ({
        ...rest,
        nodes: nodes.map((node) => (node.uuid === 'second' ? { ...failed, recovery } : node)),
      }));
      await start({ knownNodes: names });
      const { balance, nodes } = await state();
      assert.deepEqual(balance?.ejected, []);
      const keepsFiles = recovery === 'delta' ? true : undefined;
      assert.deepEqual(
        [nodes[1]?.membership, nodes[1]?.recovery, nodes[1]?.keepsCopies],
        ['active', undefined, keepsFiles],
      );
    }
  });

  it('recover a node fully that was failed over during its delta recovery', async (t) => {
    const returning: NodeState = { ...second, recovery: 'delta' };
    const { start, state, change, manager } = await managed([returning]);
    t.after(() => manager.stop());
    await start({ knownNodes: names });
    const again = (changes: Partial<NodeState>) =>
      change(({ balance: _, nodes, ...rest }) => ({
        ...rest,
        nodes: nodes.map((node) => (node.uuid === 'second' ? { ...node, ...changes } : node)),
      }));
    const keepsCopies = async (changes: Partial<NodeState>) => {
      await again(changes);
      await start({ knownNodes: names });
      return (await state()).nodes[1]?.keepsCopies;
    };
    assert.equal(await keepsCopies({}), true, 'the rebalance is tried again');
    assert.equal(await keepsCopies({ membership: 'inactiveAdded', recovery: 'full' }), undefined);
  });

  it('are refused for buckets that do not exist where a node is recovered by delta recovery', async (t) => {
    const returning: NodeState = { ...second, recovery: 'delta' };
    const { start, state, request, manager } = await managed([returning]);
    t.after(() => manager.stop());
    assert.equal(
      (await request('/pools/default/buckets', { form: { name: 'b', ramQuota: '100' } })).status,
      202,
    );
    const rebalanceWith = async (deltaRecoveryBuckets: string) => {
      const { status, text } = await start({ knownNodes: names, deltaRecoveryBuckets });
      return [status, text];
    };
    assert.deepEqual(await rebalanceWith('b,x'), [400, '{"deltaRecoveryNotPossible":1}']);
    assert.equal((await state()).balance, undefined);
    assert.deepEqual(await rebalanceWith('b'), [200, '']);
  });

  it('stop the running rebalance, and do nothing if none runs', async (t) => {
    const { request, state, change, manager } = await managed();
    t.after(() => manager.stop());
    const stop = () => request('/controller/stopRebalance', { method: 'POST' });
    assert.deepEqual([(await stop()).status, (await state()).balance], [200, undefined]);
    await change((now) => ({ ...now, balance: plan }));
    assert.equal((await stop()).status, 200);
    assert.deepEqual((await state()).balance?.stopping, { reason: null });
    await change((now) => ({ ...now, balance: { ...plan, stopping: { reason: 'Node x.' } } }));
    await stop();
    assert.deepEqual((await state()).balance?.stopping, { reason: 'Node x.' }, 'the reason is kept');
  });

  it('do nothing on a cluster of one node, unless shards were lost by the failover of another', async (t) => {
    const { start, state, manager, request, store } = await managed([]);
    t.after(() => manager.stop());
    await request('/pools/default/buckets', { form: { name: 'b', ramQuota: '100', replicaNumber: '0' } });
    assert.equal((await start({ knownNodes: 'ns_1@cb.local' })).status, 200);
    assert.equal((await state()).balance, undefined);
    const balanced = async () => (await request('/pools/default')).body.balanced;
    assert.equal(await balanced(), true);
    const [entry = assert.fail('no map')] = await store.list<BucketMap>('map/');
    const before = entry.value.shards;
    const lost = { epoch: 4, chain: [-1] };
    await store.put(entry.key, { ...entry.value, shards: [lost, ...before.slice(1)] }, entry.revision);
    assert.equal(await balanced(), false);
    assert.equal((await start({ knownNodes: 'ns_1@cb.local' })).status, 200);
    assert.equal((await state()).balance?.kind, 'rebalance');
  });
});

describe('retries of a rebalance', () => {
  it('are off by default, set within their ranges, and shown', async (t) => {
    const { request, manager } = await managed();
    t.after(() => manager.stop());
    const path = '/settings/retryRebalance';
    const off = { enabled: false, afterTimePeriod: 300, maxAttempts: 1 };
    assert.deepEqual((await request(path)).body, off);
    for (const form of [
      {},
      { enabled: '1' },
      { enabled: 'true', afterTimePeriod: '4' },
      { enabled: 'true', afterTimePeriod: '3601' },
      { enabled: 'true', maxAttempts: '4' },
      { enabled: 'true', maxAttempts: '0' },
      { enabled: 'true', other: '1' },
    ])
      assert.equal((await request(path, { form: form as Record<string, string> })).status, 400);
    assert.deepEqual((await request(path)).body, off);
    const on = await request(path, { form: { enabled: 'true', afterTimePeriod: '5', maxAttempts: '3' } });
    assert.deepEqual([on.status, on.body], [200, { enabled: true, afterTimePeriod: 5, maxAttempts: 3 }]);
  });

  it('are cancelled by their id, by another rebalance and by a failover', async (t) => {
    const { request, manager, change, state, start } = await managed();
    t.after(() => manager.stop());
    const pending = async () => (await request('/pools/default/pendingRetryRebalance')).body;
    assert.deepEqual(await pending(), { retry_rebalance: 'not_pending' });
    const retry = {
      id: 'failed',
      nodes: ['second'],
      ejected: [],
      dueMs: Number.MAX_SAFE_INTEGER,
      attemptsLeft: 1,
    };
    const wait = () => change((before) => ({ ...before, retry }));
    await wait();
    assert.equal((await pending()).rebalance_id, 'failed');
    const cancel = (id: string) => request(`/controller/cancelRebalanceRetry/${id}`, { method: 'POST' });
    assert.equal((await cancel('other')).status, 200);
    assert.equal((await pending()).retry_rebalance, 'pending');
    assert.deepEqual(
      [(await cancel('failed')).status, (await pending()).retry_rebalance],
      [200, 'not_pending'],
    );
    await wait();
    assert.equal((await start({ knownNodes: names })).status, 200);
    assert.equal((await state()).retry, undefined);
    await change(({ balance: _, ...before }) => ({ ...before, retry }));
    const failing = { otpNode: 'n_1@127.0.0.1', allowUnsafe: 'true' };
    assert.equal((await request('/controller/startFailover', { form: failing })).status, 200);
    assert.equal((await state()).retry, undefined);
  });
});

describe('the end of a rebalance', () => {
  it('shows a failure with the published message', async (t) => {
    const { request, change, manager } = await managed();
    t.after(() => manager.stop());
    const last = { id: 'plan', kind: 'gracefulFailover', outcome: 'failed', endedMs: 1 } as const;
    await change((now) => ({ ...now, lastBalance: last }));
    const path = '/logs/rebalanceReport';
    assert.equal((await request(path)).status, 404, 'one of an earlier version has no report');
    const named = { kept: ['ns_1@cb.local'], ejected: [], failed: ['n_1@127.0.0.1'] };
    await change((now) => ({
      ...now,
      lastBalance: { ...last, reason: 'No.', endedMs: 2_500, startedMs: 1_000, named },
    }));
    const report = {
      rebalanceId: 'plan',
      operation: 'gracefulFailover',
      nodesInfo: { keep_nodes: named.kept, eject_nodes: [], failed_nodes: named.failed },
      stageInfo: {},
      startTime: '1970-01-01T00:00:01.000Z',
      completedTime: '1970-01-01T00:00:02.500Z',
      timeTaken: 1_500,
      completionMessage: 'Graceful failover failed: No.',
    };
    assert.deepEqual((await request(path)).body, report);
    assert.equal((await request(`${path}?reportID=other`)).status, 404);
    const errorMessage = 'Graceful failover failed. See logs for detailed reason. You can try again.';
    const progress = (await request('/pools/default/rebalanceProgress')).body;
    assert.deepEqual(progress, { status: 'none', errorMessage });
    const [task] = (await request('/pools/default/tasks')).body;
    assert.deepEqual(task, {
      type: 'rebalance',
      statusIsStale: false,
      masterRequestTimedOut: false,
      statusId: 'plan',
      subtype: 'gracefulFailover',
      lastReportURI: `${path}?reportID=plan`,
      status: 'notRunning',
      errorMessage,
    });
    assert.deepEqual((await request(task.lastReportURI)).body, report);
  });
});

describe('rebalance settings', () => {
  it('limit the moves of a node, also as an internal setting', async (t) => {
    const { request, manager } = await managed([]);
    t.after(() => manager.stop());
    const path = '/settings/rebalance';
    assert.deepEqual((await request(path)).body, { rebalanceMovesPerNode: 4 });
    for (const value of ['1', '64']) {
      const changed = await request(path, { form: { rebalanceMovesPerNode: value } });
      assert.deepEqual([changed.status, changed.body], [200, { rebalanceMovesPerNode: Number(value) }]);
    }
    for (const value of ['0', '65', 'x', '']) {
      const refused = await request(path, { form: { rebalanceMovesPerNode: value } });
      assert.equal(refused.status, 400);
      assert.deepEqual(Object.keys(refused.body.errors), ['rebalanceMovesPerNode']);
    }
    const unknown = await request(path, { form: { moves: '1' } });
    assert.deepEqual(unknown.body, { errors: { moves: 'Unsupported key' } });
    assert.equal((await request(path, { raw: '' })).status, 400);
    assert.equal((await request('/internalSettings')).body.rebalanceMovesPerNode, 64);
  });
});

// Refusals of calls that add nodes, on two managers in one process. What follows a join that succeeds: test/acceptance/joining.test.ts.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UnavailableError } from '#base/unavailable-error.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import type { Channel } from '#replog/served/channel.ts';
import { aMembership } from '../../../test/support/a-membership.ts';
import { runPromises } from '../../../test/support/advance-clock.ts';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { answer, memberForm } from '../../../test/support/joining-calls.ts';
import { aManager, type ManagerOptions, managedCluster } from '../../../test/support/manager.ts';
import { bucketsKey, type ClusterState, clusterKey, noBuckets } from '../config/cluster-state.ts';
import { ownVersion } from '../config/node-versions.ts';
import type { EngagedNode } from './join-messages.ts';
import { type CallRemote, type RemoteAnswer, RemoteError } from './remote-node.ts';

const otherId = 'fedcba9876543210fedcba9876543210';
const add = '/controller/addNode';

/** Answers each request of a manager. */
function answeringChannel(): Channel {
  let receive: (message: unknown) => void = () => {};
  return {
    receive: ({ message }) => {
      receive = message;
    },
    send: (request) => receive({ id: (request as { id: number }).id, value: null }),
    close: () => {},
  };
}

/** The other node is another manager; `change` alters its answer to the first call, and `joins` stands for its start as a member. */
async function aPair(
  options: ManagerOptions = {},
  change: (engaged: EngagedNode) => Partial<EngagedNode> = () => ({}),
  joins?: (store: ConfigStore) => Promise<void>,
) {
  const calls: string[] = [];
  const notes: string[] = [];
  const second = await aManager({
    nodeId: otherId,
    provisioned: false,
    membership: aMembership({ join: ({ clusterUuid }) => notes.push(clusterUuid) }),
    net: { connect: () => Promise.reject(new Error('no way')), channelOf: () => assert.fail() },
  });
  const callRemote: CallRemote = async ({ path, content, user, password }) => {
    calls.push(path);
    if (path === '/completeJoin' && joins) {
      await joins(store);
      return answer(200, '');
    }
    const json = content && 'json' in content ? content.json : undefined;
    const as = user === '' ? null : `${user}:${password}`;
    // The node tries several times to reach the founder.
    const waits = setInterval(() => path === '/completeJoin' && second.clock.advance(500), 1);
    const { status, text } = await second.request(path, { method: 'POST', json, as });
    clearInterval(waits);
    const isEngaged = path === '/engageCluster2' && status === 200;
    const engaged = isEngaged ? (JSON.parse(text) as EngagedNode) : null;
    return answer(status, engaged === null ? text : JSON.stringify({ ...engaged, ...change(engaged) }));
  };
  const store = options.store ?? new MemoryConfigStore();
  const first = await aManager({ membership: aMembership(), callRemote, store, ...options });
  const refusal = async (form: Record<string, string>) => {
    const { status, body } = await first.request(add, { method: 'POST', form });
    return [status, body];
  };
  const nodes = async (): Promise<ClusterState> =>
    ((await store.get<ClusterState>(clusterKey))?.value ?? assert.fail('no cluster')) as ClusterState;
  return { first, second, store, calls, notes, refusal, nodes };
}

/** What an added node writes once it has started. */
async function starts(store: ConfigStore): Promise<void> {
  await update<ClusterState>(store, clusterKey, aCluster(), (state) => ({
    ...state,
    nodes: state.nodes.map(({ joining: _done, ...node }) => node),
  }));
}

const plainListener = { afamily: 'inet' as const, nodeEncryption: false };
const encryptedListener = { ...plainListener, nodeEncryption: true };
const plain = { ...plainListener, afamilyOnly: false, listeners: [plainListener] };
const encrypted = { ...plain, nodeEncryption: true, listeners: [plainListener, encryptedListener] };

describe('addNode', () => {
  it('refuses wrong parameters without a call', async () => {
    const { refusal, calls } = await aPair();
    for (const [form, ...texts] of [
      [{}, 'Hostname is required.', 'user is missing', 'password is missing'],
      [{ ...memberForm, hostname: ' ' }, 'Hostname is required.'],
      [{ ...memberForm, x: '1' }, 'Got unknown parameters: ["x"]'],
      [{ ...memberForm, user: '' }, 'If a username is not specified, a password must not be supplied.'],
      [{ ...memberForm, password: '' }, 'A password must be supplied.'],
      [{ ...memberForm, services: 'kv,x' }, 'Unknown services: ["x"]'],
      [{ ...memberForm, services: '' }, 'At least one service has to be selected'],
      [{ ...memberForm, hostname: 'ftp://a' }, 'Prepare join failed. Unsupported protocol ftp'],
      [
        { ...memberForm, hostname: '::1' },
        'Prepare join failed. Malformed URL ::1; if using IPv6, enclose in square brackets',
      ],
      [
        { ...memberForm, hostname: 'a:70000' },
        'Prepare join failed. Malformed URL a:70000; if using IPv6, enclose in square brackets',
      ],
    ] as [Record<string, string>, ...string[]][])
      assert.deepEqual(await refusal(form), [400, texts], JSON.stringify(form));
    assert.deepEqual(calls, []);
  });

  it('refuses what its own cluster does not allow', async () => {
    const natsSource = () => assert.fail('cannot read ca.pem');
    const onNats = await aPair({ membership: aMembership({ natsSource }) });
    const unread = [400, ['Prepare join failed. cannot read ca.pem']];
    assert.deepEqual(await onNats.refusal({ ...memberForm, user: '', password: '' }), unread);
    assert.equal((await onNats.nodes()).nodes.length, 1);
    const unprovisioned = await aManager({ provisioned: false });
    const early = await unprovisioned.request(add, { method: 'POST', form: memberForm, as: null });
    assert.deepEqual(early.body, ['Adding nodes to not provisioned nodes is not allowed.']);
    const balancing = await aPair();
    await update<ClusterState>(balancing.store, clusterKey, aCluster(), (state) => ({
      ...state,
      balance: { id: 'r', kind: 'rebalance', term: 1, nodes: [], ejected: [], startedMs: 0 },
    }));
    const refusedWhileBusy = [400, ['Node addition is disallowed while rebalance is in progress']];
    assert.deepEqual(await balancing.refusal(memberForm), refusedWhileBusy);
    await update<ClusterState>(balancing.store, clusterKey, aCluster(), (state) => ({
      ...state,
      ...(state.balance && { balance: { ...state.balance, kind: 'failover' } }),
    }));
    assert.deepEqual(await balancing.refusal(memberForm), [
      400,
      ['Operation cannot be performed due to unfinished failover'],
    ]);
  });

  it('refuses plain connections when the encryption level is strict', async () => {
    const { first, refusal } = await aPair();
    const post = async (path: string, form: Record<string, string>) =>
      assert.equal((await first.request(path, { method: 'POST', form })).status, 200, path);
    await post('/settings/autoFailover', { enabled: 'false' });
    await post('/node/controller/enableExternalListener', { nodeEncryption: 'on' });
    await post('/node/controller/setupNetConfig', { nodeEncryption: 'on' });
    await post('/settings/security', { clusterEncryptionLevel: 'strict' });
    assert.deepEqual(await refusal({ ...memberForm, hostname: 'http://10.0.0.2:8091' }), [
      400,
      ['http is prohibited due to security reasons, please use https'],
    ]);
  });

  it('encrypts the traffic of an added node if that of all nodes is encrypted, and so keeps the encryption level', async (t) => {
    for (const isEncrypted of [false, true]) {
      const net = { connect: async () => answeringChannel(), channelOf: () => assert.fail() };
      const { first, refusal, nodes } = await aPair({ net }, () => ({}), starts);
      t.after(() => first.manager.stop());
      await update<ClusterState>(first.store, clusterKey, aCluster(), (state) => ({
        ...state,
        nodes: state.nodes.map((node) => (isEncrypted ? { ...node, network: encrypted } : node)),
      }));
      assert.equal((await refusal({ ...memberForm, user: '', password: '' }))[0], 200);
      const [, added] = (await nodes()).nodes;
      assert.deepEqual(added?.network, isEncrypted ? encrypted : plain);
    }
  });

  it('adds one node at a time', async () => {
    const called = Promise.withResolvers<void>();
    const remoteAnswer = Promise.withResolvers<RemoteAnswer>();
    const callRemote: CallRemote = () => {
      called.resolve();
      return remoteAnswer.promise;
    };
    const { refusal } = await aPair({ callRemote });
    const first = refusal(memberForm);
    await called.promise;
    assert.deepEqual(await refusal(memberForm), [503, ['cannot acquire lock']]);
    remoteAnswer.resolve(answer(401, ''));
    const wrong = 'Prepare join failed. Authentication failed. Verify username and password.';
    assert.deepEqual(await first, [400, [wrong]]);
  });

  it('answers with the reason why the node cannot be reached, or with that of its refusal', async () => {
    for (const [reply, text] of [
      [new RemoteError('Failed to connect to https://h:1.'), 'Failed to connect to https://h:1.'],
      [answer(400, '["This","and that"]'), 'This and that'],
      [answer(404, 'Not found.'), 'Not found.'],
      [answer(500, ''), 'The node answered with status 500.'],
      [answer(200, '<html>'), 'The other side is no node of this product.'],
      [answer(200, '{}'), 'The other side is no node of this product.'],
    ] as const) {
      const callRemote = async () => (reply instanceof Error ? Promise.reject(reply) : reply);
      const { refusal } = await aPair({ callRemote });
      assert.deepEqual(await refusal(memberForm), [400, [`Prepare join failed. ${text}`]]);
    }
  });

  it('refuses a node that does not fit, and changes nothing', async () => {
    const self = aCluster().nodes[0];
    for (const [change, text] of [
      [() => ({ nodeId: self?.uuid ?? '' }), 'Joining node to itself is not allowed.'],
      [
        () => ({ compatibility: 458755 }),
        'Prepare join failed. The node has compatibility version 7.3, and this cluster 7.1; they may differ by one minor version.',
      ],
      [
        () => ({ version: undefined as never }),
        'Prepare join failed. The node has version 0.2, and all nodes of this cluster have at least version 0.3: install version 0.3 on the node first.',
      ],
      [
        () => ({ version: ownVersion + 2 }),
        'Prepare join failed. The node has version after 0.3, and a node of this cluster has 0.3; only adjacent versions can form a cluster: upgrade the nodes of the cluster first.',
      ],
      [
        () => ({ supportedServices: ['n1ql'] }),
        "Node doesn't support requested services: kv. Supported services: n1ql",
      ],
      [
        () => ({ quotaMaxMb: 100 }),
        'This server does not have sufficient memory to support requested memory quota. Total quota is 1024MB (services: kv), maximum allowed quota for the node is 100MB.',
      ],
      [
        ({ wallMs }: EngagedNode) => ({ wallMs: wallMs - 6_000 }),
        'Prepare join failed. The clock of the node differs from this one by 6 s; at most 5 s are allowed. Set both clocks, for example by NTP.',
      ],
    ] as [(engaged: EngagedNode) => Partial<EngagedNode>, string][]) {
      const { refusal, nodes } = await aPair({}, change);
      assert.deepEqual(await refusal({ ...memberForm, user: '', password: '' }), [400, [text]]);
      assert.equal((await nodes()).nodes.length, 1);
    }
  });

  it('refuses a node whose ports cannot be reached', async () => {
    const { refusal } = await aPair({ portProblem: 'ehostunreach' });
    assert.deepEqual(await refusal({ ...memberForm, user: '', password: '' }), [
      400,
      ['Prepare join failed. Port 11210 of the node cannot be reached at 10.0.0.2: ehostunreach'],
    ]);
  });

  it('refuses a name that another node has, and nodes on other machines while a member has a loopback address only', async () => {
    const store = new MemoryConfigStore();
    const [self] = aCluster().nodes;
    const other = {
      ...self,
      uuid: 'other',
      otpNode: 'ns_1@10.0.0.2',
      hostname: '10.0.0.2',
      membership: 'active',
    };
    await store.put(clusterKey, aCluster({ nodes: [self, other] as ClusterState['nodes'] }), 0);
    await store.put(bucketsKey, noBuckets(300), 0);
    const { refusal } = await aPair({ store });
    const form = { ...memberForm, user: '', password: '' };
    assert.deepEqual(await refusal(form), [400, ['Node already exists in cluster: ns_1@10.0.0.2']]);
    const [, texts] = await refusal({ ...form, hostname: 'https://10.0.0.3' });
    assert.match((texts as string[])[0] ?? '', /The node ns_1@cb.local is known by a loopback address only/);
  });

  it('removes what earlier nodes left in the configuration', async () => {
    const connect = async () => answeringChannel();
    const pair = await aPair({ net: { connect, channelOf: () => assert.fail() } }, () => ({}), starts);
    const { store } = pair;
    await update<ClusterState>(store, clusterKey, aCluster(), (state) => ({ ...state, left: ['gone'] }));
    await store.put('files/made/gone', ['b'], 0);
    assert.equal((await pair.refusal({ ...memberForm, user: '', password: '' }))[0], 200);
    assert.equal(await store.get('files/made/gone'), null);
  });

  it('leaves nothing in the cluster when the node cannot complete the join', async () => {
    const { refusal, nodes, calls, notes } = await aPair();
    const [, texts] = await refusal({ ...memberForm, user: '', password: '' });
    assert.deepEqual(texts, [
      'Join completion call failed. The founder of the cluster cannot be reached from this node: no way (10.0.0.1:21150)',
    ]);
    const { nodes: present, left } = await nodes();
    assert.deepEqual([present.map(({ uuid }) => uuid), left], [[aCluster().nodes[0]?.uuid], [otherId]]);
    assert.deepEqual([calls, notes], [['/engageCluster2', '/completeJoin'], []]);
  });

  it('tries for some time to reach the port between nodes of a node that started', async (t) => {
    for (const [refusals, outcome] of [
      [3, [200, { otpNode: 'ns_1@10.0.0.2' }]],
      [
        Number.POSITIVE_INFINITY,
        [
          400,
          [
            'Join completion call failed. The node started, but its port between nodes cannot be reached: refused 127.0.0.1.',
          ],
        ],
      ],
    ] as const) {
      let refused = 0;
      const connect = async () =>
        ++refused > refusals ? answeringChannel() : Promise.reject(new Error('refused 127.0.0.1'));
      const pair = await aPair({ net: { connect, channelOf: () => assert.fail() } }, () => ({}), starts);
      const waits = setInterval(() => pair.first.clock.advance(100), 1);
      t.after(() => clearInterval(waits));
      assert.deepEqual(await pair.refusal({ ...memberForm, user: '', password: '' }), outcome);
      assert.equal((await pair.nodes()).nodes.length, outcome[0] === 200 ? 2 : 1);
    }
  });

  it('keeps a node that a rebalance has made active since it started, though its port cannot be reached', async (t) => {
    const activated = (store: ConfigStore) =>
      update<ClusterState>(store, clusterKey, aCluster(), (state) => ({
        ...state,
        nodes: state.nodes.map(({ joining: _done, ...node }) => ({ ...node, membership: 'active' as const })),
      }));
    const connect = () => Promise.reject(new Error('refused'));
    const pair = await aPair(
      { net: { connect, channelOf: () => assert.fail() } },
      () => ({}),
      async (store) => {
        await activated(store);
      },
    );
    const waits = setInterval(() => pair.first.clock.advance(100), 1);
    t.after(() => clearInterval(waits));
    const [status] = await pair.refusal({ ...memberForm, user: '', password: '' });
    assert.deepEqual([status, (await pair.nodes()).nodes.length], [400, 2]);
  });

  it('answers with the reason why the join failed although the node cannot be removed then, and removes it later', async () => {
    const store = new MemoryConfigStore();
    const pair = await aPair({ store });
    const put = store.put.bind(store);
    let isAway = true;
    store.put = async (key, value, ...rest) => {
      const isRemoval = key === clusterKey && (value as ClusterState).left?.includes(otherId);
      if (isAway && isRemoval) throw new UnavailableError('Nothing was changed: no server can be reached.');
      return put(key, value, ...rest);
    };
    const [status, texts] = await pair.refusal({ ...memberForm, user: '', password: '' });
    assert.equal(status, 400);
    assert.match(`${texts}`, /^Join completion call failed\./);
    isAway = false;
    pair.first.clock.advance(30_000);
    await runPromises();
    assert.equal((await pair.nodes()).nodes.length, 1);
  });

  it('leaves nothing in the cluster when the node cannot use its NATS servers', async () => {
    const nats = { servers: 'nats://ann:sesame@127.0.0.1:1', bucket: 'divan', files: {} };
    const membership = aMembership({ isFounder: false, natsSource: () => nats });
    const { refusal, nodes } = await aPair({ membership });
    const [, texts] = await refusal({ ...memberForm, user: '', password: '' });
    assert.deepEqual(texts, [
      'Join completion call failed. The configuration of the cluster cannot be used from this node: NATS at 127.0.0.1:1: connection refused',
    ]);
    const { nodes: present, left, founder } = await nodes();
    assert.deepEqual([present.length, left, founder], [1, [otherId], undefined]);
  });
});

describe('ejectNode', () => {
  it('removes nodes that are not active, and refuses others in the published words', async (t) => {
    const { request, state, change, manager } = await managedCluster([
      nodeNamed('added', { membership: 'inactiveAdded' }),
      nodeNamed('failed', { membership: 'inactiveFailed' }),
    ]);
    t.after(() => manager.stop());
    const eject = async (form: Record<string, string>) => {
      const { status, text } = await request('/controller/ejectNode', { form });
      return [status, text];
    };
    const active = [400, 'Cannot remove active server.\n'];
    assert.deepEqual(await eject({}), [400, 'Bad Request\n']);
    assert.deepEqual(await eject({ otpNode: '' }), [400, 'Bad Request\n']);
    assert.deepEqual(await eject({ otpNode: 'ns_1@x' }), [400, 'Server does not exist.\n']);
    assert.deepEqual(await eject({ otpNode: 'ns_1@cb.local' }), active);
    assert.deepEqual(await eject({ otpNode: 'Self' }), active);
    assert.deepEqual(await eject({ otpNode: 'ns_1@added' }), [200, '']);
    assert.deepEqual(await eject({ otpNode: 'ns_1@failed' }), [200, '']);
    const { nodes, left } = await state();
    assert.deepEqual([nodes.length, left], [1, ['failed', 'added']]);
    await change((now) => ({
      ...now,
      nodes: [
        ...now.nodes.map((node) => ({ ...node, membership: 'inactiveAdded' as const })),
        nodeNamed('b'),
      ],
    }));
    assert.deepEqual(await eject({ otpNode: 'Self' }), [200, '']);
  });

  it('does not remove the node that stores the configuration', async (t) => {
    const failed = nodeNamed('failed', { membership: 'inactiveFailed' });
    const { request, state, change, manager } = await managedCluster([failed]);
    t.after(() => manager.stop());
    await change((now) => ({ ...now, founder: 'failed' }));
    const { status, text } = await request('/controller/ejectNode', { form: { otpNode: 'ns_1@failed' } });
    assert.equal(status, 400);
    assert.match(text, /^The node ns_1@failed stores the configuration .* rebalance\.$/);
    assert.equal((await state()).nodes.length, 2);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { update } from '#replog/config-store.ts';
import { aCluster } from '../../../test/support/cluster.ts';
import { aManager, type ManagerOptions } from '../../../test/support/manager.ts';
import { type ClusterState, clusterKey, type NodeState } from '../config/cluster-state.ts';
import { RemoteError } from '../joining/remote-node.ts';

const path = '/pools/default/serverGroups';

async function groups(options: ManagerOptions = {}) {
  const { request, manager, store } = await aManager(options);
  const list = async () => (await request(path)).body;
  const named = async (name: string) =>
    (await list()).groups.find((group: { name: string }) => group.name === name);
  const create = (name: string) => request(path, { form: { name } });
  return { request, manager, store, list, named, create };
}

describe('server groups', () => {
  it('begin with one group that has every node', async (t) => {
    const { list, manager } = await groups();
    t.after(() => manager.stop());
    const { groups: found, uri } = await list();
    assert.equal(found.length, 1);
    const [{ nodes, ...group }] = found;
    assert.deepEqual(group, { name: 'Group 1', uri: `${path}/0`, addNodeURI: `${path}/0/addNode` });
    assert.deepEqual(
      nodes.map(({ otpNode, clusterMembership, services }: Record<string, unknown>) => [
        otpNode,
        clusterMembership,
        services,
      ]),
      [['ns_1@cb.local', 'active', ['kv']]],
    );
    assert.match(uri, /^\/pools\/default\/serverGroups\?rev=\d+$/);
  });

  it('are created, renamed and deleted', async (t) => {
    const { request, create, named, list, manager } = await groups();
    t.after(() => manager.stop());
    const created = await create(' Rack 2 ');
    assert.deepEqual([created.status, created.body], [200, []]);
    const { uri, nodes } = await named('Rack 2');
    assert.deepEqual(nodes, []);
    const renamed = await request(uri, { method: 'PUT', form: { name: 'Rack B' } });
    assert.deepEqual([renamed.status, renamed.body], [200, []]);
    assert.equal((await named('Rack B')).uri, uri);
    assert.equal((await request(uri, { method: 'DELETE' })).status, 200);
    assert.equal((await list()).groups.length, 1);
    assert.equal((await request(uri, { method: 'DELETE' })).status, 404);
  });

  it('refuse a missing, empty, long or taken name', async (t) => {
    const { request, create, named, manager } = await groups();
    t.after(() => manager.stop());
    assert.deepEqual((await request(path, { form: { other: 'x' } })).body, { name: 'is missing' });
    assert.deepEqual((await create('  ')).body, { name: 'cannot be empty' });
    assert.equal((await create('x'.repeat(65))).status, 400);
    assert.equal((await create('x'.repeat(64))).status, 200);
    const refused = await create('Group 1');
    assert.deepEqual([refused.status, refused.body], [400, { name: 'already exists' }]);
    const { uri } = await named('x'.repeat(64));
    const renamed = await request(uri, { method: 'PUT', form: { name: 'Group 1' } });
    assert.deepEqual([renamed.status, renamed.body], [400, { name: 'already exists' }]);
    const same = await request(uri, { method: 'PUT', form: { name: 'x'.repeat(64) } });
    assert.equal(same.status, 200, 'its own name is free');
    const unknown = await request(`${path}/nowhere`, { method: 'PUT', form: { name: 'y' } });
    assert.deepEqual([unknown.status, unknown.body], [404, 'Could not find group with uuid: nowhere']);
  });

  it('are in the records of nodes, and a node that changes its group makes a cluster of several nodes unbalanced', async (t) => {
    const { request, create, named, list, manager, store } = await groups();
    t.after(() => manager.stop());
    const pool = async () => (await request('/pools/default')).body;
    const { nodes, serverGroupsUri } = await pool();
    assert.equal(nodes[0].serverGroup, 'Group 1');
    assert.match(serverGroupsUri, /^\/pools\/default\/serverGroups\?v=\d+$/);
    await create('Rack 2');
    const second: NodeState = {
      ...(aCluster().nodes[0] as NodeState),
      uuid: 'second',
      otpNode: 'n_1@127.0.0.1',
      hostname: null,
      group: (await named('Rack 2')).uri.slice(-32),
    };
    await update<ClusterState>(store, clusterKey, aCluster(), (state) => ({
      ...state,
      nodes: [...state.nodes, second],
    }));
    const names = async () => (await pool()).nodes.map((node: { serverGroup: string }) => node.serverGroup);
    assert.deepEqual([await names(), (await pool()).balanced], [['Group 1', 'Rack 2'], true]);
    const self = { otpNode: 'ns_1@cb.local' };
    const other = { otpNode: 'n_1@127.0.0.1' };
    const move = async (first: object[], rack: object[]) => {
      const sent = [
        { uri: `${path}/0`, nodes: first },
        { uri: (await named('Rack 2')).uri, nodes: rack },
      ];
      return request((await list()).uri, { method: 'PUT', json: { groups: sent } });
    };
    assert.equal((await move([self], [other])).status, 200);
    assert.equal((await pool()).balanced, true, 'nothing changed');
    assert.equal((await move([other], [self])).status, 200);
    assert.deepEqual([await names(), (await pool()).balanced], [['Rack 2', 'Group 1'], false]);
  });

  it('show an IPv6 address of a node in brackets, as the record of the node does', async (t) => {
    const { request, list, manager, store } = await groups();
    t.after(() => manager.stop());
    await update<ClusterState>(store, clusterKey, aCluster(), (state) => ({
      ...state,
      nodes: state.nodes.map((node) => ({ ...node, hostname: 'fd00::1' })),
    }));
    const [{ nodes }] = (await list()).groups;
    const { body } = await request('/pools/default');
    assert.match(nodes[0].hostname, /^\[fd00::1\]:\d+$/);
    assert.equal(nodes[0].hostname, body.nodes[0].hostname);
  });

  it('refuse to add a node to an unknown group', async (t) => {
    const callRemote = () => Promise.reject(new RemoteError('there was no answer'));
    const { request, manager } = await groups({ callRemote });
    t.after(() => manager.stop());
    const form = { hostname: '127.0.0.1:1', user: '', password: '' };
    const answer = await request(`${path}/nowhere/addNode`, { form });
    assert.deepEqual([answer.status, answer.body], [404, ['Could not find group with uuid: nowhere']]);
    const unreachable = await request(`${path}/0/addNode`, { form });
    assert.deepEqual(
      [unreachable.status, unreachable.body],
      [400, ['Prepare join failed. there was no answer']],
    );
  });

  it('are deleted only without nodes', async (t) => {
    const { request, create, list, named, manager } = await groups();
    t.after(() => manager.stop());
    const refused = await request(`${path}/0`, { method: 'DELETE' });
    assert.deepEqual([refused.status, refused.body], [400, { _: 'group is not empty' }]);
    await create('Rack 2');
    const second = await named('Rack 2');
    const moved = [
      { uri: `${path}/0`, nodes: [] },
      { uri: second.uri, nodes: [{ otpNode: 'ns_1@cb.local' }] },
    ];
    const { uri } = await list();
    assert.equal((await request(uri, { method: 'PUT', json: { groups: moved } })).status, 200);
    assert.equal((await named('Rack 2')).nodes.length, 1);
    assert.equal((await request(`${path}/0`, { method: 'DELETE' })).status, 200);
    assert.equal((await named('Rack 2')).nodes.length, 1);
    assert.equal((await request(second.uri, { method: 'DELETE' })).status, 400);
  });

  it('refuse moves that leave out or repeat a node, name an unknown one, or follow another change', async (t) => {
    const { request, create, list, named, manager } = await groups();
    t.after(() => manager.stop());
    await create('Rack 2');
    const { uri: second } = await named('Rack 2');
    const self = { otpNode: 'ns_1@cb.local' };
    const move = async (body: unknown) =>
      request((await list()).uri, { method: 'PUT', json: body as Record<string, unknown> });
    for (const [body, problem] of [
      [{}, 'groups must be an array of groups'],
      [{ groups: [null] }, 'each group needs its uri'],
      [{ groups: [{ uri: second }] }, `nodes of ${second} must be an array`],
      [{ groups: [{ uri: second, nodes: [{}] }] }, `each node of ${second} needs its otpNode`],
      [{ groups: [{ uri: second, nodes: [] }] }, 'the node ns_1@cb.local is in no group'],
      [{ groups: [{ uri: second, nodes: [self, self] }] }, 'a node is in two groups'],
      [{ groups: [{ uri: second, nodes: [self, { otpNode: 'ns_1@b' }] }] }, 'there is no node ns_1@b'],
    ] as const) {
      const answer = await move(body);
      assert.deepEqual([answer.status, answer.body], [400, { _: problem }]);
    }
    const unknown = await move({ groups: [{ uri: `${path}/no`, nodes: [self] }] });
    assert.equal(unknown.status, 404);
    const { uri } = await list();
    await create('Rack 3');
    const outdated = await request(uri, {
      method: 'PUT',
      json: { groups: [{ uri: second, nodes: [self] }] },
    });
    assert.equal(outdated.status, 409);
    assert.equal((await named('Rack 2')).nodes.length, 0);
  });
});

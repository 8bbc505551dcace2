// A node that joins: a cluster asks it to, or its own administrator does.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { update } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aMembership } from '../../../test/support/a-membership.ts';
import { aCluster } from '../../../test/support/cluster.ts';
import { answer, memberForm } from '../../../test/support/joining-calls.ts';
import { aManager, type ManagerOptions } from '../../../test/support/manager.ts';
import { bucketsKey, type ClusterState, clusterKey, noBuckets } from '../config/cluster-state.ts';
import { ownVersion } from '../config/node-versions.ts';
import { type RemoteCall, RemoteError } from './remote-node.ts';

const otherId = 'fedcba9876543210fedcba9876543210';

describe('a node that is asked to join', () => {
  const engage = { clusterUuid: 'c', compatibility: 458_753, services: ['kv'], offer: 'o' };

  it('names the wrong field of a malformed call that it refuses', async () => {
    const { request } = await aManager({ provisioned: false, membership: aMembership() });
    const texts = async (path: string, json: unknown) =>
      (await request(path, { method: 'POST', json, as: null })).body;
    const wrong = (field: string) => [
      `the call does not have the form of this version: ${field} is missing or wrong`,
    ];
    assert.deepEqual(await texts('/engageCluster2', {}), wrong('clusterUuid'));
    assert.deepEqual(await texts('/engageCluster2', { ...engage, offer: 1 }), wrong('offer'));
    assert.deepEqual(
      await texts('/engageCluster2', { ...engage, compatibility: '7' }),
      wrong('compatibility'),
    );
    assert.deepEqual(await texts('/engageCluster2', { ...engage, version: '1' }), wrong('version'));
    assert.deepEqual(await texts('/engageCluster2', { ...engage, services: 'kv' }), wrong('services'));
    assert.deepEqual(await texts('/completeJoin', { clusterUuid: 'c' }), wrong('sealed'));
    const none = ['no join of this cluster is under way here; call /engageCluster2 first'];
    assert.deepEqual(await texts('/completeJoin', { clusterUuid: 'c', sealed: 's' }), none);
    assert.equal((await texts('/engageCluster2', engage)).nodeId.length, 32);
    assert.deepEqual(await texts('/completeJoin', { clusterUuid: 'other', sealed: 's' }), none);
    assert.deepEqual(await texts('/completeJoin', { clusterUuid: 'c', sealed: 's' }), wrong('sealed'));
  });

  it('refuses an older cluster, and every cluster while it is a member of another', async () => {
    const { request } = await aManager({ provisioned: false, membership: aMembership() });
    const call = { method: 'POST', json: { ...engage, compatibility: 458_752 }, as: null } as const;
    assert.deepEqual((await request('/engageCluster2', call)).body, [
      'Node attempting to join an older cluster. Some of the selected services are not available.',
    ]);
    const store = new MemoryConfigStore();
    const [self] = aCluster().nodes;
    const nodes = [self, { ...self, uuid: otherId, otpNode: 'n_1@127.0.0.1' }] as ClusterState['nodes'];
    await store.put(clusterKey, aCluster({ nodes }), 0);
    await store.put(bucketsKey, noBuckets(300), 0);
    const member = await aManager({ store, membership: aMembership() });
    const refused = await member.request('/engageCluster2', { method: 'POST', json: engage });
    assert.deepEqual(refused.body, ['Node is already part of cluster.']);
  });

  it('joins a cluster with nodes of the version before, and refuses one whose nodes all have a later version', async () => {
    const { request } = await aManager({ provisioned: false, membership: aMembership() });
    const answerTo = async (version: number | undefined) => {
      const { status, body } = await request('/engageCluster2', {
        method: 'POST',
        json: { ...engage, ...(version !== undefined && { version }) },
        as: null,
      });
      return status === 200 ? body.version : body;
    };
    assert.equal(await answerTo(undefined), ownVersion);
    assert.equal(await answerTo(ownVersion - 1), ownVersion);
    assert.equal(await answerTo(ownVersion), ownVersion);
    assert.deepEqual(await answerTo(ownVersion + 1), [
      'Prepare join failed. The node has version 0.3, and all nodes of this cluster have at least version after 0.3: install version after 0.3 on the node first.',
    ]);
    assert.match((await answerTo(ownVersion - 2))[0], /only adjacent versions can form a cluster/);
  });

  it('refuses to join while its own configuration is on NATS servers', async () => {
    const engineProblem = 'It is on NATS.';
    const { request } = await aManager({ provisioned: false, membership: aMembership({ engineProblem }) });
    const refused = await request('/engageCluster2', { method: 'POST', json: engage, as: null });
    assert.deepEqual([refused.status, refused.body], [400, [engineProblem]]);
  });

  it('needs credentials once it is provisioned', async () => {
    const { request } = await aManager({ membership: aMembership() });
    assert.equal((await request('/engageCluster2', { method: 'POST', json: engage, as: null })).status, 401);
  });

  it('refuses to join with wrong parameters or when provisioned, and passes on the reasons of a cluster that refuses it', async () => {
    const join = '/node/controller/doJoinCluster';
    const joined = async (form: Record<string, string>, options: ManagerOptions = {}) => {
      const managerOptions = { provisioned: false, membership: aMembership(), ...options };
      const as = managerOptions.provisioned ? undefined : null;
      const { request } = await aManager(managerOptions);
      return (await request(join, { method: 'POST', form, ...(as === null && { as }) })).body;
    };
    assert.deepEqual(await joined({}), ['Hostname is required.', 'user is missing', 'password is missing']);
    assert.deepEqual(await joined({ ...memberForm, services: 'x' }), ['Unknown services: ["x"]']);
    assert.deepEqual(await joined({ ...memberForm, hostname: 'ftp://h' }), ['Unsupported protocol ftp']);
    assert.deepEqual(await joined(memberForm, { provisioned: true }), [
      'Node is already provisioned. To join use controller/addNode api of the cluster',
    ]);
    const unresolved = new RemoteError('Failed to resolve address for "h".');
    assert.deepEqual(await joined(memberForm, { callRemote: () => Promise.reject(unresolved) }), [
      unresolved.message,
    ]);
    assert.deepEqual(await joined(memberForm, { callRemote: async () => answer(401, '') }), [
      'Authentication failed. Verify username and password.',
    ]);
    const callRemote = async () => answer(400, '["No","not now"]');
    assert.deepEqual(await joined(memberForm, { callRemote }), ['No', 'not now']);
    assert.deepEqual(await joined({ ...memberForm, services: '' }), [
      'At least one service has to be selected',
    ]);
    assert.deepEqual(await joined({ ...memberForm, hostname: '::1' }), [
      'Malformed URL ::1; if using IPv6, enclose in square brackets',
    ]);
    assert.deepEqual(await joined(memberForm, { callRemote: async () => answer(404, 'Not found.') }), [
      'Node attempting to join an older cluster. Some of the selected services are not available.',
    ]);
  });

  it('neither joins nor is added before it knows its ports', async () => {
    const { request, store } = await aManager({ provisioned: false, membership: aMembership() });
    await update<ClusterState>(store, clusterKey, aCluster(), (state) => ({
      ...state,
      nodes: state.nodes.map((node) => ({ ...node, ports: { ...node.ports, kv: 0, mgmt: 0 } })),
    }));
    const refused = [400, ['The node is starting; try again.']];
    const join = await request('/node/controller/doJoinCluster', {
      method: 'POST',
      form: memberForm,
      as: null,
    });
    assert.deepEqual([join.status, join.body], refused);
    const added = await request('/engageCluster2', { method: 'POST', json: engage, as: null });
    assert.deepEqual([added.status, added.body], refused);
  });

  it('joins by the host and the port of a member, whichever scheme the port has', async () => {
    const calls: RemoteCall[] = [];
    const { request } = await aManager({
      provisioned: false,
      membership: aMembership(),
      callRemote: async (call) => {
        calls.push(call);
        return answer(calls.length % 2 === 1 ? 400 : 200, '[]');
      },
    });
    const join = async (form: Record<string, string>) => {
      const sent = { user: 'a', password: 'b', ...form };
      const { status, text } = await request('/node/controller/doJoinCluster', {
        method: 'POST',
        form: sent,
        as: null,
      });
      return [status, text];
    };
    const named = { clusterMemberHostIp: '10.0.0.2', clusterMemberPort: '18091', newNodeHostname: 'db3' };
    assert.deepEqual(await join(named), [200, '']);
    assert.deepEqual(await join({ clusterMemberHostIp: 'fd00::2', clusterMemberPort: '8091' }), [200, '']);
    const [first, second, third] = calls;
    // The first call changes nothing, so that the other cluster has no reason to refuse and log it.
    assert.deepEqual([first?.path, first?.content], ['/pools', undefined]);
    assert.deepEqual(first?.target, { scheme: null, host: '10.0.0.2', port: 18091 });
    assert.deepEqual(second?.content, {
      form: { hostname: 'https://db3:18091', user: '', password: '', services: 'kv' },
    });
    assert.deepEqual(third?.target, { scheme: null, host: 'fd00::2', port: 8091 });
    const missing = [400, '["clusterMemberPort is missing"]'];
    assert.deepEqual(await join({ clusterMemberHostIp: '10.0.0.2' }), missing);
    assert.deepEqual(await join({ clusterMemberPort: '8091' }), [400, '["Hostname is required."]']);
    assert.deepEqual(await join({ hostname: '' }), [400, '["Hostname is required."]']);
    assert.equal(calls.length, 4);
  });
});

// A founder that returns asks nodes of its cluster, over connections in memory, where the configuration is before it serves its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { type ClusterState, clusterKey } from '#cluster/config/cluster-state.ts';
import { ClusterView } from '#cluster/config/cluster-view.ts';
import { EnginePlaces } from '#cluster/engine/engine-place.ts';
import { engineKey } from '#cluster/engine/engine-record.ts';
import type { FounderNotice } from '#cluster/founder/founder-change.ts';
import { InterNode } from '#cluster/peers/inter-node.ts';
import { NodeCertificates } from '#cluster/peers/node-certificates.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import type { NodeAddress } from '#replog/node-address.ts';
import type { Channel } from '#replog/served/channel.ts';
import { type NodeProtocol, nodeProtocols } from '#replog/served/node-connect.adapter.ts';
import { aMembership } from '../../test/support/a-membership.ts';
import { aCluster } from '../../test/support/cluster.ts';
import { node, recordOf, secrets, someServers } from '../../test/support/engine-node.ts';
import { laterPlace } from './later-place.ts';
import { StartError } from './start-error.ts';

const issued = { certificate: 'certificate', key: 'key' };
const issue = async () => ({ authority: issued, node: issued, rsa: null });
const certificatesOf = (store: MemoryConfigStore, nodeId: string): NodeCertificates =>
  new NodeCertificates({ store, secrets, issue, random: realRandom, identity: { nodeId, bootId: '' } });
const refusing = (): never => assert.fail('a call that the test does not expect');

async function storeWith(nodeId: string, cluster: Partial<ClusterState>): Promise<MemoryConfigStore> {
  const store = new MemoryConfigStore();
  await store.put(clusterKey, aCluster(cluster), 0);
  await certificatesOf(store, nodeId).prepare();
  return store;
}

/** Two ends of one connection. */
function aConnection(): [Channel, Channel] {
  const ends = [0, 1].map(() => Promise.withResolvers<Parameters<Channel['receive']>[0]>());
  const end = (own: 0 | 1): Channel => {
    const other = ends[1 - own]?.promise;
    return {
      send: (message) => void other?.then((handler) => handler.message(structuredClone(message))),
      receive: (handler) => ends[own]?.resolve(handler),
      close: () => void other?.then((handler) => handler.closed('closed')),
    };
  };
  return [end(0), end(1)];
}

interface Other {
  cluster: Partial<ClusterState>;
  /** The cluster uses NATS servers of the nodes. */
  isOnServers?: boolean;
  founderNotice?: FounderNotice;
  /** The sealed login of those servers, where the key of the cluster is another one. */
  source?: string;
}

/** Accepts connections as the node `nodeId`. */
async function otherNode(nodeId: string, { cluster, isOnServers = false, founderNotice, source }: Other) {
  const store = await storeWith(nodeId, cluster);
  if (isOnServers) await store.put(engineKey, { ...recordOf(['b', 'c']), ...(source && { source }) }, 0);
  const view = new ClusterView(store, nodeId);
  await view.start();
  let accepted: Channel | null = null;
  const parts = { store, view, secrets, log: silentLog, clock: realClock, identity: { nodeId, bootId: '' } };
  const certificates = certificatesOf(store, nodeId);
  const interNode = new InterNode({
    ...parts,
    certificates,
    isFounder: () => false,
    net: { connect: refusing, channelOf: () => accepted as Channel },
  });
  const membership = aMembership({ natsSource: () => (isOnServers ? someServers : null) });
  const founderChange = { noticeFor: () => founderNotice ?? null, noticed: refusing };
  new EnginePlaces({ ...parts, certificates, membership, founderChange, peers: interNode.peers });
  return (from: string, protocol: NodeProtocol): Channel => {
    const [ours, theirs] = aConnection();
    accepted = theirs;
    interNode.accept({ once: () => {} } as unknown as TLSSocket, from, protocol);
    return ours;
  };
}

const nodes = ['a', 'b', 'c'].map((id) => node(id));
const member = { nodes, revEpoch: 5 };
const removed = { nodes: nodes.slice(1), left: ['a'], revEpoch: 5 };

/** What the founder `a` of epoch 2 finds. A node that is absent here does not answer. */
async function found(others: Record<string, Other>, own: Partial<ClusterState> = {}) {
  const store = await storeWith('a', { nodes, founder: 'a', revEpoch: 2, ...own });
  const hosts = new Map<string, Awaited<ReturnType<typeof otherNode>>>();
  for (const [id, other] of Object.entries(others)) hosts.set(id, await otherNode(id, other));
  return laterPlace({
    store,
    nodeId: 'a',
    secrets,
    log: silentLog,
    localAddress: undefined,
    clusterKey: new Uint8Array(32),
    async connect({ nodeId }: NodeAddress) {
      const accept = hosts.get(nodeId);
      if (accept === undefined) throw new Error('connection refused');
      return accept('a', nodeProtocols.manager);
    },
  });
}

test('a founder that was failed over uses the servers to which the configuration moved since', async () => {
  const place = await found({ b: { cluster: member, isOnServers: true } });
  assert.ok(place !== null && place !== 'removed' && 'nats' in place);
  assert.deepEqual(place.nats, someServers);
  assert.deepEqual(
    [place.clusterUuid, place.credentials.cert, place.clusterKey],
    [aCluster().uuid, 'certificate', Buffer.alloc(32).toString('base64')],
  );
});

test('a founder whose key does not decrypt the login of the servers does not start, and says what to do', async () => {
  const b = { cluster: member, isOnServers: true, source: 'of another key' };
  await assert.rejects(found({ b }), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /epoch 5.*does not decrypt: put the secret.key of the cluster back/);
    return true;
  });
});

test('a founder that the cluster has removed gets the answer that it was removed, not the place of the servers', async () => {
  const b = { cluster: removed, isOnServers: true };
  assert.equal(await found({ b, c: b }), 'removed');
  // Another node was down, and knows an earlier epoch.
  const founderNotice = { epoch: 3, founder: { nodeId: 'c', host: 'c', port: 1 } };
  assert.equal(await found({ b, c: { cluster: { nodes, revEpoch: 3 }, founderNotice } }), 'removed');
});

test('of several answers that of the highest epoch counts, and of two with the same epoch a place rather than a removal', async () => {
  const b = { cluster: { ...removed, revEpoch: 4 }, isOnServers: true };
  const founderNotice = { epoch: 5, founder: { nodeId: 'c', host: 'c', port: 1 } };
  const c = { cluster: member, founderNotice };
  for (const others of [
    { b, c },
    { c, b },
  ]) {
    const place = await found(others);
    assert.deepEqual(place !== 'removed' && place && 'founder' in place && place.founder.nodeId, 'c');
  }
  const onServers = { cluster: member, isOnServers: true };
  const wasDown = { cluster: removed, isOnServers: true };
  for (const others of [
    { b: wasDown, c: onServers },
    { b: onServers, c: wasDown },
  ]) {
    const place = await found(others);
    assert.ok(place !== null && place !== 'removed' && 'nats' in place);
  }
});

test('a founder serves its own configuration where no node answers, or none that answers knows a later place', async () => {
  assert.equal(await found({}), null);
  for (const revEpoch of [1, 2])
    for (const cluster of [member, removed])
      assert.equal(await found({ b: { cluster: { ...cluster, revEpoch }, isOnServers: true } }), null);
  for (const epoch of [1, 2]) {
    const founderNotice = { epoch, founder: { nodeId: 'b', host: 'b', port: 1 } };
    assert.equal(await found({ b: { cluster: member, founderNotice } }), null);
  }
  // The answer of a node does not count if its cluster neither has this node nor removed it.
  assert.equal(await found({ b: { cluster: { ...removed, left: [] }, isOnServers: true } }), null);
  assert.equal(await found({}, { nodes: nodes.slice(0, 1) }), null);
});

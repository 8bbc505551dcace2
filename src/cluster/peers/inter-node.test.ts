// Connections from other nodes to the configuration store of a founder, and to nodes that leave the cluster.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { silentLog } from '#ports/log.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import type { Channel } from '#replog/served/channel.ts';
import { nodeProtocols } from '#replog/served/node-connect.adapter.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { InterNode, type InterNodeDeps } from './inter-node.ts';

class TestChannel implements Channel {
  isClosed = false;
  isServed = false;

  send(): void {}

  receive(): void {
    this.isServed = true;
  }

  close(): void {
    this.isClosed = true;
  }
}

/** A store of which the first watch fails. */
class FailingStore extends MemoryConfigStore {
  private hasFailed = false;

  override async watch(...watched: Parameters<MemoryConfigStore['watch']>) {
    if (this.hasFailed) return super.watch(...watched);
    this.hasFailed = true;
    throw new Error('the store cannot be read');
  }
}

test('a founder that cannot read its store closes the connection, and serves the next connection', async () => {
  const channels: TestChannel[] = [];
  const interNode = new InterNode({
    store: new FailingStore(),
    view: { cluster: { uuid: 'cluster', nodes: [{ uuid: 'b' }] }, revisionEpoch: 1 },
    identity: { nodeId: 'a', bootId: '' },
    net: { channelOf: () => channels.at(-1) as Channel },
    isFounder: () => true,
    clock: new ManualClock(),
    log: silentLog,
  } as unknown as InterNodeDeps);
  const accept = async (): Promise<TestChannel> => {
    const channel = new TestChannel();
    channels.push(channel);
    interNode.accept({ once: () => {} } as unknown as TLSSocket, 'b', nodeProtocols.store);
    await new Promise((resolve) => setImmediate(resolve));
    return channel;
  };
  assert.deepEqual({ ...(await accept()) }, { isClosed: true, isServed: false });
  assert.deepEqual({ ...(await accept()) }, { isClosed: false, isServed: true });
  await interNode.stop();
});

test('the connection to a node that left the cluster is closed, even if that node had no connection to this node', async () => {
  const channel = new TestChannel();
  const cluster = { uuid: 'cluster', nodes: [{ uuid: 'a' }, { uuid: 'b', ports: { distTLS: 1 } }] };
  let changed = (): void => {};
  const interNode = new InterNode({
    view: {
      cluster,
      onChange(listener: () => void) {
        changed = listener;
        return { stop: () => {} };
      },
    },
    certificates: { ownCredentials: () => ({}) },
    net: { connect: async () => channel },
    clock: new ManualClock(),
    log: silentLog,
  } as unknown as InterNodeDeps);
  interNode.start();
  const asked = assert.rejects(interNode.peers.ask('b', 'figures', null, 1_000), /it left the cluster/);
  changed();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(channel.isClosed, false);
  cluster.nodes.pop();
  changed();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(channel.isClosed, true);
  await asked;
  await interNode.stop();
});

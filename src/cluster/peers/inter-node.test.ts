// Connections from other nodes to the configuration store of a founder.
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

test('a founder that cannot read its store closes the connection and serves the next one', async () => {
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

// The configuration that a founder serves: its embedded store, over mutually authenticated TLS.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { nodeUri } from '#base/node-uri.ts';
import type { UnwritableError } from '#base/unwritable-error.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { configStoreSuite } from '../../../test/contract/config-store.ts';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { SeenHeadInMemory } from '../../../test/support/nats-store.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { type ConfigStore, update } from '../config-store.ts';
import { EmbeddedConfigStore } from '../embedded-config-store.adapter.ts';
import { MirroredConfigStore } from '../mirror/mirrored-config-store.ts';
import { connectToNode, nodeProtocols } from './node-connect.adapter.ts';
import { ServedConfigLink } from './served-config-link.ts';
import { StoreServer } from './store-server.ts';
import { messageBytesMax, TlsChannel } from './tls-channel.adapter.ts';

const pair = await makeCertificate([nodeUri('founder')]);
const credentials = { ca: pair.certificate, cert: pair.certificate, key: pair.key };

/** A founder with a data folder and a port of its own, which it keeps over restarts. */
class Founder {
  readonly folder = mkdtempSync(join(tmpdir(), 'divan-founder-'));
  readonly sockets = new Set<TLSSocket>();
  store: EmbeddedConfigStore | null = null;
  port = 0;
  private storeServer: StoreServer | null = null;
  private tlsServer: Server | null = null;

  static async start(): Promise<Founder> {
    const founder = new Founder();
    await founder.start();
    return founder;
  }

  async start(): Promise<void> {
    const store = new EmbeddedConfigStore(join(this.folder, 'config.db'));
    const storeServer = new StoreServer({ store, identity: 'the cluster', bootId: realRandom.uuid() });
    await storeServer.start();
    const options = {
      ...credentials,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
      ALPNProtocols: [nodeProtocols.store],
    } as const;
    const tlsServer = createServer(options, (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      storeServer.serve(new TlsChannel(socket));
    });
    tlsServer.listen(this.port, '127.0.0.1');
    await new Promise((resolve) => tlsServer.once('listening', resolve));
    this.port = (tlsServer.address() as AddressInfo).port;
    Object.assign(this, { store, storeServer, tlsServer });
  }

  async stop(): Promise<void> {
    this.storeServer?.stop();
    const closed = new Promise((resolve) => this.tlsServer?.close(resolve));
    this.cutOff();
    await closed;
    await this.store?.[Symbol.asyncDispose]();
  }

  cutOff(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** The store as another node uses it. */
  async node(seen = new SeenHeadInMemory(), changeWaitMs = 3_000): Promise<MirroredConfigStore> {
    const address = { nodeId: 'founder', host: '127.0.0.1', port: this.port };
    const store = new MirroredConfigStore({
      link: new ServedConfigLink('the founder', () =>
        connectToNode(address, credentials, nodeProtocols.store),
      ),
      seen,
      clock: realClock,
      random: realRandom,
      log: silentLog,
      changeWaitMs,
    });
    await store.start();
    return store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true });
  }
}

configStoreSuite('served by a founder', {
  isShared: true,
  async make() {
    const founder = await Founder.start();
    return { open: () => founder.node(), close: () => founder[Symbol.asyncDispose]() };
  },
});

describe('configuration served by a founder', () => {
  it('lets the founder and other nodes change the same keys', async () => {
    await using founder = await Founder.start();
    await using node = await founder.node();
    const count = async (store: ConfigStore): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        await update<number>(store, 'count', 0, (value) => value + 1);
        // The embedded store never waits for anything: the other node gets its turn here.
        await new Promise((resolve) => realClock.soon(() => resolve(null)));
      }
    };
    await Promise.all([count(founder.store as ConfigStore), count(node)]);
    assert.equal((await founder.store?.get('count'))?.value, 80);
    await eventually(async () => assert.equal((await node.get('count'))?.value, 80));
  });

  it('makes each acknowledged change once while connections break before the answer', async () => {
    await using founder = await Founder.start();
    // Enough time to connect again on a busy machine.
    const waitMs = 30_000;
    await using a = await founder.node(new SeenHeadInMemory(), waitMs);
    await using b = await founder.node(new SeenHeadInMemory(), waitMs);
    let changes = 0;
    await founder.store?.watch('count', () => {
      if (++changes % 5 === 0) founder.cutOff();
    });
    const rounds = 25;
    // Each node waits for the other after each change: an outcome would be unknown if the other one made more writes meanwhile than the
    // founder keeps ids of.
    for (let round = 0; round < rounds; round++)
      await Promise.all([a, b].map((store) => update<number>(store, 'count', 0, (value) => value + 1)));
    assert.equal((await founder.store?.get<number>('count'))?.value, 2 * rounds);
    assert.equal(changes, 2 * rounds);
  });

  it('creates a key once when the answer is lost and the key is deleted before the write is repeated', async () => {
    await using founder = await Founder.start();
    await using node = await founder.node();
    await founder.store?.watch('k', (_, entry) => {
      if (entry === null) return;
      founder.cutOff();
      void founder.store?.delete('k', entry.revision);
    });
    assert.equal(await node.put('k', 1, 0), 1);
    assert.equal(await node.get('k'), null);
    assert.equal(await founder.store?.get('k'), null);
    assert.equal(founder.store?.revision(), 2);
  });

  it('refuses a change that is too large for a message, and keeps the connection', async () => {
    await using founder = await Founder.start();
    await using node = await founder.node();
    const before = [...founder.sockets];
    await assert.rejects(node.put('k', 'x'.repeat(messageBytesMax), 0), /a message of \d+ bytes/);
    assert.equal(await node.put('k', 'x', 0), 1);
    assert.deepEqual([...founder.sockets], before);
  });

  it('catches up with what changed and was deleted while it was cut off or the founder was restarted', async () => {
    await using founder = await Founder.start();
    await using node = await founder.node();
    const seen: [string, unknown][] = [];
    for (const key of ['a', 'b', 'c']) await node.put(key, 1, 0);
    await node.watch('', (key, entry) => seen.push([key, entry?.value ?? null]));
    seen.length = 0;
    founder.cutOff();
    await founder.store?.delete('a', 1);
    await founder.store?.put('c', 2, 3);
    await eventually(() => assert.equal(node.revision(), 5));
    assert.deepEqual(seen.splice(0), [
      ['a', null],
      ['c', 2],
    ]);
    assert.equal(await node.put('a', 'again', 0), 6);
    seen.length = 0;
    await founder.stop();
    assert.equal((await node.get('a'))?.value, 'again');
    await assert.rejects(
      node.put('a', 'x', 6),
      /the configuration is stored by the founder, which cannot be used now|The change may be lost/,
    );
    const alone = new EmbeddedConfigStore(join(founder.folder, 'config.db'));
    await alone.delete('b', 2);
    await alone[Symbol.asyncDispose]();
    await founder.start();
    await eventually(async () => assert.equal(await node.get('b'), null));
    assert.deepEqual(seen, [['b', null]]);
    assert.ok(await node.put('b', 'again', 0));
  });

  it('refuses the state of a founder that was restored from an older copy', async () => {
    await using founder = await Founder.start();
    await using node = await founder.node();
    await node.put('a', 1, 0);
    await founder.stop();
    const copy = `${founder.folder}-copy`;
    cpSync(founder.folder, copy, { recursive: true });
    await founder.start();
    // The first attempt may fail because it detects the lost connection.
    await eventually(() => update(node, 'a', 0, () => 2));
    await founder.stop();
    rmSync(founder.folder, { recursive: true });
    cpSync(copy, founder.folder, { recursive: true });
    rmSync(copy, { recursive: true });
    await founder.start();
    await eventually(() => assert.match(node.problem ?? '', /went back to an older state/));
    assert.equal((await node.get('a'))?.value, 2);
  });

  it('a founder refuses a node, and a node refuses a founder, whose certificate another authority signed', async () => {
    await using founder = await Founder.start();
    const other = await makeCertificate();
    const address = { nodeId: 'founder', host: '127.0.0.1', port: founder.port };
    const asOtherAuthority = { ca: pair.certificate, cert: other.certificate, key: other.key };
    const link = new ServedConfigLink('the founder', () =>
      connectToNode(address, asOtherAuthority, nodeProtocols.store),
    );
    await assert.rejects(link.head());
    assert.equal(founder.sockets.size, 0);
    await assert.rejects(
      connectToNode(address, { ...credentials, ca: other.certificate }, nodeProtocols.store),
      /self-signed/,
    );
    await link[Symbol.asyncDispose]();
  });

  it('refuses a change that the founder cannot write, with the reason', async () => {
    await using founder = await Founder.start();
    await using node = await founder.node();
    await node.put('a', 1, 0);
    rmSync(join(founder.folder, 'config.db'));
    await assert.rejects(node.put('a', 2, 1), (error: UnwritableError) => {
      const wanted =
        /^UnwritableError: Nothing was changed: \S*config.db was removed or replaced while it was open\.$/;
      assert.match(String(error), wanted);
      return error.isUnchanged;
    });
  });
});

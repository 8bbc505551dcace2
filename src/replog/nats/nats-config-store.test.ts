// The configuration store on real NATS servers: one, and a cluster of three.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect } from '@nats-io/transport-node';
import { UnavailableError } from '#base/unavailable-error.ts';
import { configStoreSuite } from '../../../test/contract/config-store.ts';
import { counting } from '../../../test/support/counting.ts';
import { NatsCluster } from '../../../test/support/nats-servers.ts';
import { natsStore, SeenHeadInMemory } from '../../../test/support/nats-store.ts';
import { needs } from '../../../test/support/needs.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { update } from '../config-store.ts';

const skip = needs('nats-server');

for (const count of [1, 3])
  describe(count === 1 ? 'one NATS server' : 'three NATS servers', { skip }, () => {
    let servers: NatsCluster;
    let buckets = 0;
    before(async () => {
      servers = await NatsCluster.start({ count });
    });
    after(() => servers[Symbol.asyncDispose]());
    configStoreSuite(`NATS, servers: ${count}`, {
      isShared: true,
      async make() {
        const bucket = `b${++buckets}`;
        return { open: () => natsStore(servers.url, { bucket }), close: async () => {} };
      },
    });
  });

describe('configuration on one NATS server', { skip }, () => {
  it('serves reads without the server, refuses changes with the reason, and recovers by itself', async () => {
    await using servers = await NatsCluster.start();
    const [server] = servers.servers as [NatsCluster['servers'][0]];
    await using store = await natsStore(servers.url, { changeWaitMs: 300 });
    await using other = await natsStore(servers.url);
    const seen: unknown[] = [];
    await other.watch('k', (_, entry) => seen.push(entry?.value ?? null));
    await store.put('k', 1, 0);
    await server.stop('SIGKILL');
    await assert.rejects(store.put('k', 2, 1), (error: Error) => {
      assert.ok(error instanceof UnavailableError);
      assert.match(error.message, /NATS at 127\.0\.0\.1:\d+/);
      return true;
    });
    assert.equal((await store.get('k'))?.value, 1);
    await server.start();
    await eventually(async () => assert.equal(await store.put('k2', 2, 0), 2));
    await eventually(() => assert.equal(other.problem, null));
    const { revision } = await update(store, 'k', 0, () => 3);
    await eventually(() => assert.ok(other.revision() >= revision));
    assert.deepEqual(
      seen,
      [1, 2, 3].filter((value) => value !== 2 || seen.includes(2)),
    );
  });

  it('writes the record that ends the store only directly after the newest change of any key, and refuses changes afterwards', async () => {
    await using servers = await NatsCluster.start();
    await using store = await natsStore(servers.url, { mayEnd: true });
    await using other = await natsStore(servers.url);
    const founder = { nodeId: 'a', host: 'a', port: 1 };
    await store.put('k', 1, 0);
    await other.put('l', 1, 0);
    await eventually(() => assert.equal(store.revision(), 2));
    assert.equal(await store.end({ founder, after: 1 }), false);
    assert.equal(await store.end({ founder, after: 2 }), true);
    const { content, end } = await store.ended;
    assert.deepEqual([end.founder, content?.records.map(({ key }) => key)], [founder, ['k', 'l']]);
    await eventually(() => assert.equal(other.revision(), 3));
    // `other` was opened without `mayEnd`: for it, the record that ends the store is one like any other.
    assert.equal(await other.put('k', 2, 1), 4);
    assert.equal((await store.get('k'))?.value, 1);
    await assert.rejects(store.put('l', 2, 2), /the configuration has just moved to another node/);
  });

  it('waits for a server at the start and reports why', async () => {
    await using servers = await NatsCluster.start();
    const [server] = servers.servers as [NatsCluster['servers'][0]];
    await server.stop();
    const reasons: string[] = [];
    const opening = natsStore(servers.url, { waiting: (reason) => reasons.push(reason) });
    await eventually(() => assert.ok(reasons.length > 0));
    assert.match(reasons.join(), /refused/i);
    await server.start();
    await using store = await opening;
    assert.equal(await store.put('k', 1, 0), 1);
  });

  it('refuses a store that went back to an older state, is empty, or is not the one that it used before', async () => {
    await using servers = await NatsCluster.start();
    const [server] = servers.servers as [NatsCluster['servers'][0]];
    const seen = new SeenHeadInMemory();
    const restart = async (change: () => void): Promise<void> => {
      await server.stop();
      change();
      await server.start();
    };
    await using store = await natsStore(servers.url, { seen, changeWaitMs: 300 });
    await store.put('a', 'old', 0);
    let older = '';
    await restart(() => {
      older = server.backup();
    });
    await eventually(() => assert.equal(store.problem, null));
    await update(store, 'a', '', () => 'new');
    let newer = '';
    await restart(() => {
      newer = server.backup();
      server.restore(older);
    });
    await eventually(() =>
      assert.match(store.problem ?? '', /went back to an older state.*newest revision is 1, and was 2/),
    );
    assert.equal((await store.get('a'))?.value, 'new');
    await assert.rejects(store.put('a', 'x', 2), /Nothing was changed: .*went back to an older state/);
    await restart(() => server.restore(null));
    await eventually(() =>
      assert.match(store.problem ?? '', /"divan" is missing: put it back from a backup/),
    );
    await restart(() => server.restore(newer));
    await eventually(() => assert.equal(store.problem, null));
    assert.equal((await update(store, 'a', '', (value) => `${value}er`)).value, 'newer');

    // A start compares the servers' state with the newest one that the last process saw.
    await store[Symbol.asyncDispose]();
    await restart(() => server.restore(older));
    const reasons: string[] = [];
    const opening = natsStore(servers.url, { seen, waiting: (reason) => reasons.push(reason) });
    opening.catch(() => {});
    await eventually(() => assert.match(reasons.join(), /went back/));
    await restart(() => server.restore(null));
    await (await natsStore(servers.url))[Symbol.asyncDispose]();
    await assert.rejects(opening, /it is another store than before/);
  });

  it('loses no acknowledged change over kills of the server under load, and makes none twice', async () => {
    await using servers = await NatsCluster.start();
    const [server] = servers.servers as [NatsCluster['servers'][0]];
    await using a = await natsStore(servers.url);
    await using b = await natsStore(servers.url);
    const load = counting([a, b]);
    for (let round = 0; round < 3; round++) {
      const before = load.outcome.done;
      await eventually(() => assert.ok(load.outcome.done > before + 20));
      await server.stop('SIGKILL');
      await server.start();
    }
    const { done, unknown } = await load.stop();
    await eventually(() => assert.equal(a.problem ?? b.problem, null));
    const { value } = await update<number>(a, 'count', 0, (count) => count);
    assert.ok(value >= done && value <= done + unknown, `${value} of ${done} + ${unknown}`);
  });

  it('reads what another program wrote into the bucket, and refuses a bucket that another program created', async () => {
    await using servers = await NatsCluster.start();
    await using store = await natsStore(servers.url);
    await store.put('a.b', 1, 0);
    const connection = await connect({ servers: servers.url.slice(7) });
    await connection.request('$KV.divan.a=2eb', '2');
    await connection.request('$KV.divan.not.ours', 'text');
    await eventually(() => assert.equal(store.revision(), 3));
    assert.equal((await store.get('a.b'))?.value, 2);
    assert.equal((await store.list('')).length, 1);
    const config = JSON.stringify({ name: 'KV_other', subjects: ['$KV.other.>'], storage: 'file' });
    await connection.request('$JS.API.STREAM.CREATE.KV_other', config);
    await assert.rejects(natsStore(servers.url, { bucket: 'other' }), /"other" was not made by Divan/);
    await connection.close();
  });

  it('refuses a value above the payload limit of the servers with a text that names the key, and stays usable', async () => {
    await using servers = await NatsCluster.start({ extra: 'max_payload: 64KB' });
    await using store = await natsStore(servers.url);
    await assert.rejects(
      store.put('k', 'x'.repeat(70_000), 0),
      /Nothing was changed: the value of "k" has 70002 bytes, and the NATS servers accept at most 61440 \(max_payload\)/,
    );
    assert.equal(await store.put('k', 'x', 0), 1);
  });
});

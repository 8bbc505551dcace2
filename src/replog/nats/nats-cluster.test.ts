// The configuration store while servers of a NATS cluster are killed and paused.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { counting } from '../../../test/support/counting.ts';
import { NatsCluster } from '../../../test/support/nats-servers.ts';
import { natsStore } from '../../../test/support/nats-store.ts';
import { needs } from '../../../test/support/needs.ts';
import { eventually, eventuallyWithin } from '../../../test/support/node-process.ts';
import { type ConfigStore, update } from '../config-store.ts';

const skip = needs('nats-server');

describe('configuration on three NATS servers', { skip }, () => {
  it('loses no acknowledged change over kills and pauses of servers under load, and makes none twice', async () => {
    await using servers = await NatsCluster.start({ count: 3 });
    const stores = await Promise.all([0, 1, 2].map(() => natsStore(servers.url)));
    try {
      const seen: number[] = [];
      await stores[0]?.watch('count', (_, entry) => seen.push(entry?.value as number));
      const load = counting(stores);
      const atLeast = (count: number) =>
        eventuallyWithin(60_000, () => assert.ok(load.outcome.done >= count, `${load.outcome.done}`));
      await atLeast(30);
      for (const server of servers.servers) {
        await server.stop('SIGKILL');
        await atLeast(load.outcome.done + 10);
        await server.start();
      }
      const [first] = servers.servers;
      first?.pause();
      await atLeast(load.outcome.done + 10);
      first?.resume();
      const { done, unknown } = await load.stop();
      await eventuallyWithin(60_000, () => assert.ok(stores.every(({ problem }) => problem === null)));
      const { value, revision } = await update<number>(
        stores[1] as ConfigStore,
        'count',
        0,
        (count) => count,
      );
      assert.ok(value >= done && value <= done + unknown, `${value} of ${done} + ${unknown}`);
      await eventually(() => assert.ok((stores[0]?.revision() ?? 0) >= revision));
      // Values only grow: no watcher was shown one that was taken back, or one twice.
      assert.deepEqual(
        seen.slice(0, -1),
        [...new Set(seen.slice(0, -1))].sort((a, b) => a - b),
      );
      assert.equal(seen.at(-1), value);
    } finally {
      for (const store of stores) await store[Symbol.asyncDispose]();
    }
  });
});

// The configuration store while servers of a NATS cluster are killed and paused.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connect } from '@nats-io/transport-node';
import { counting } from '../../../test/support/counting.ts';
import { NatsCluster, type NatsServer } from '../../../test/support/nats-servers.ts';
import { natsStore } from '../../../test/support/nats-store.ts';
import { needs } from '../../../test/support/needs.ts';
import { eventually, eventuallyWithin } from '../../../test/support/node-process.ts';
import { type ConfigStore, update } from '../config-store.ts';
import { parseServers, showAddress } from './nats-servers.ts';

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
      // Values only grow: no watcher saw a value twice, or one that was then undone.
      assert.deepEqual(
        seen.slice(0, -1),
        [...new Set(seen.slice(0, -1))].sort((a, b) => a - b),
      );
      assert.equal(seen.at(-1), value);
    } finally {
      for (const store of stores) await store[Symbol.asyncDispose]();
    }
  });

  it('has three members again after a server that lost its storage came back under another name', async () => {
    const extra = `accounts {
      $SYS { users: [{ user: system, password: system }] }
      DIVAN { jetstream: enabled, users: [{ user: divan, password: divan }] }
    }`;
    await using servers = await NatsCluster.start({ count: 3, extra });
    const [first, , lost] = servers.servers as [NatsServer, NatsServer, NatsServer];
    const as = (user: string): string => servers.url.replace('nats://', `nats://${user}:${user}@`);
    await using store = await natsStore(as('divan'));
    assert.notEqual(await store.put('k', 1, 0), null);
    await lost.stop('SIGKILL');
    lost.renew('n9');
    await lost.start();
    // Answered, like the removal, by the leader of the servers, which may have been the lost one.
    await eventuallyWithin(60_000, () => request(as('divan'), '$JS.API.STREAM.NAMES', {}));
    await eventuallyWithin(60_000, () => removeServer(as('system'), 'n2'));
    await eventuallyWithin(60_000, async () => {
      const { cluster } = await request<StreamInfo>(as('divan'), '$JS.API.STREAM.INFO.KV_divan', {});
      const current = cluster.replicas.filter(({ current }) => current).map(({ name }) => name);
      assert.deepEqual([cluster.leader, ...current].sort(), ['n0', 'n1', 'n9']);
    });
    // Without the new server there would be no majority.
    await first.stop('SIGKILL');
    await eventuallyWithin(60_000, () => update<number>(store, 'k', 0, (value) => value + 1));
    assert.equal((await store.get<number>('k'))?.value, 2);
  });
});

/** `err_code` of JetStream for a server that is not, or is no longer, a member. */
const notMemberCode = 10_044;

interface ApiError {
  err_code: number;
}

interface StreamInfo {
  cluster: { leader: string; replicas: { name: string; current: boolean }[] };
}

/** Throws while the servers are busy with another change, and when they do not answer. */
async function removeServer(url: string, peer: string): Promise<void> {
  const { error } = await ask<unknown>(url, '$JS.API.SERVER.REMOVE', { peer });
  const isGone = error?.err_code === notMemberCode;
  if (!isGone) assert.equal(error, undefined);
}

async function request<T>(url: string, subject: string, content: object): Promise<T> {
  const answer = await ask<T>(url, subject, content);
  assert.equal(answer.error, undefined);
  return answer;
}

async function ask<T>(url: string, subject: string, content: object): Promise<T & { error?: ApiError }> {
  const { user = '', password = '', addresses } = parseServers(url);
  const connection = await connect({ user, pass: password, servers: addresses.map(showAddress) });
  try {
    const answer = await connection.request(subject, JSON.stringify(content), { timeout: 5_000 });
    return answer.json<T & { error?: ApiError }>();
  } finally {
    await connection.close();
  }
}

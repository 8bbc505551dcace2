// A fourth NATS server takes the place of one that is lost, after which another one can be lost.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { issue } from '#cluster/certificates/issue.ts';
import { planReplacement, planServers, serverSourceOf, systemSourceOf } from '#cluster/engine/server-plan.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom as random } from '#ports/random.ts';
import { openConnection } from '#replog/nats/nats-connection.adapter.ts';
import type { NatsFiles } from '#replog/nats/nats-files.adapter.ts';
import { type NatsServers, parseServers } from '#replog/nats/nats-servers.ts';
import { OwnServer } from '#replog/own-servers/own-server.adapter.ts';
import { NatsServerGroup } from '#replog/own-servers/server-group.adapter.ts';
import { freePorts } from '../../test/support/free-port.ts';
import { natsServerPath } from '../../test/support/nats-binary.ts';
import { natsStore } from '../../test/support/nats-store.ts';
import { needs } from '../../test/support/needs.ts';
import { eventuallyWithin } from '../../test/support/node-process.ts';

interface StreamInfo {
  readonly cluster: {
    readonly leader?: string;
    readonly replicas?: readonly { readonly name: string; readonly current: boolean }[];
  };
}

const host = '127.0.0.1';
const limitMs = 120_000;

/** The servers whose copies of the configuration are complete, once there are three. */
async function copies(servers: NatsServers, files: NatsFiles): Promise<(string | undefined)[]> {
  const { connection } = await openConnection(servers, files, []);
  try {
    const answer = await connection.request('$JS.API.STREAM.INFO.KV_divan', '');
    const { leader, replicas = [] } = answer.json<StreamInfo>().cluster;
    return [leader, ...replicas.map(({ current, name }) => (current ? name : undefined))];
  } finally {
    await connection.close();
  }
}

test('a new server replaces a lost one', { skip: needs('nats-server') }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-group-'));
  const ports = await freePorts(8);
  const places = [0, 1, 2, 3].map((at) => ({
    nodeId: `n${at}`,
    host,
    port: ports[2 * at] as number,
    routePort: ports[2 * at + 1] as number,
  }));
  const running = places.map(
    ({ nodeId }) =>
      new OwnServer({
        folder: join(folder, nodeId),
        program: async () => natsServerPath,
        clock: realClock,
        random,
        log: silentLog,
      }),
  );
  const [first, second, third, fourth] = running as [OwnServer, OwnServer, OwnServer, OwnServer];
  const { tasks, servers } = await planServers(places.slice(0, 3), { issue, random });
  try {
    await Promise.all([...tasks.values()].map((task, at) => running[at]?.startNew({ ...task, host })));
    const { servers: address, files } = serverSourceOf(servers);
    await using store = await natsStore(address, { files });
    let revision = await store.put('key', 0, 0);
    const writes = (value: number) =>
      eventuallyWithin(limitMs, async () => {
        revision = (await store.get('key'))?.revision ?? 0;
        assert.ok(await store.put('key', value, revision));
      });
    assert.ok(revision);
    const lost = third.name;
    await third.stop();
    const place = places[3] as (typeof places)[number];
    const { task, servers: next } = await planReplacement(servers, { lost: 'n2', place }, { issue, random });
    await fourth.startNew({ ...task, host });
    const system = systemSourceOf(next);
    const group = new NatsServerGroup(parseServers(system.servers), system.files);
    const current = async (): Promise<(string | null)[]> =>
      (await group.members()).filter(({ isCurrent }) => isCurrent).map(({ name }) => name);
    const expected = [first, second, fourth].map(({ name }) => name).sort();
    await eventuallyWithin(limitMs, async () => assert.deepEqual((await current()).sort(), expected));
    const { id } =
      (await group.members()).find(({ name }) => name === lost) ??
      assert.fail('the lost server is not a member');
    // Refused while the servers still add the new one: the orchestrator repeats the removal, too.
    await eventuallyWithin(limitMs, () => group.remove(id));
    await eventuallyWithin(limitMs, async () =>
      assert.deepEqual((await group.members()).map(({ name }) => name).sort(), expected),
    );
    await assert.rejects(group.remove(id), /refuse the removal/);
    await writes(1);
    // The copies of the configuration move later: until then the lost server counts as one of them.
    await eventuallyWithin(limitMs, async () =>
      assert.deepEqual((await copies(parseServers(address), files)).sort(), expected),
    );
    await first.stop();
    await writes(2);
    const plain = new NatsServerGroup(parseServers(serverSourceOf(next).servers), system.files);
    await assert.rejects(plain.members(), 'the user of the nodes may not see it');
  } finally {
    await Promise.all(running.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
});

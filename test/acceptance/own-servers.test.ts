// Three nodes with `--engine nats`: they begin with the founder's store, and move the configuration to NATS servers of their own.
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Collection, DurabilityImpossibleError, DurabilityLevel } from 'couchbase';
import { freePort } from '../support/free-port.ts';
import { natsServerPath } from '../support/nats-binary.ts';
import { needs } from '../support/needs.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const waitLimitMs = 240_000;
const startMs = 240_000;
/** The time limit ends only what hangs: the machine may be busy. */
const majority = { durabilityLevel: DurabilityLevel.Majority, timeout: 120_000 };
const engine = [
  '--services',
  'kv',
  '--memory-quota',
  '256',
  '--engine',
  'nats',
  '--nats-server',
  natsServerPath,
];

async function post(node: NodeProcess, path: string, form: Record<string, string>): Promise<void> {
  const answer = await node.request(path, 'POST', form);
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.text()}`);
}

/** Where the data folder says that the configuration is. */
function serversOf({ dataDir }: NodeProcess): string | null {
  const path = join(dataDir, 'member.json');
  if (!existsSync(path)) return null;
  return (JSON.parse(readFileSync(path, 'utf8')) as { nats?: { servers: string } }).nats?.servers ?? null;
}

const serverPid = ({ dataDir }: NodeProcess): number =>
  Number(readFileSync(join(dataDir, 'nats', 'nats.pid'), 'utf8'));

const runs = (pid: number): boolean => existsSync(`/proc/${pid}`);

const clusterName = async (node: NodeProcess): Promise<string> =>
  ((await (await node.request('/pools/default')).json()) as { clusterName: string }).clusterName;

/** Makes the folder one of a founder that was killed right after the last change in its store, before it used the servers. */
function asBeforeItFollowed({ dataDir }: NodeProcess): void {
  const path = (name: string): string => join(dataDir, name);
  const { state: _, ...moved } = JSON.parse(readFileSync(path('member.json'), 'utf8')) as { state: string };
  writeFileSync(path('engine-move.json'), JSON.stringify(moved));
  for (const name of readdirSync(dataDir)) {
    if (/^(member\.json|nats\.json|config-copy\.db.*)$/.test(name)) rmSync(path(name));
    if (name.startsWith('config.db.yielded'))
      renameSync(path(name), path(name.replace('config.db.yielded', 'config.db')));
  }
}

/** A copy of what a stopped node knows of the configuration. With it restored, the node is one that was down since then. */
class KeptConfiguration implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'divan-kept-'));
  readonly #dataDir: string;

  constructor({ dataDir }: NodeProcess) {
    this.#dataDir = dataDir;
    for (const name of this.#names(dataDir))
      cpSync(join(dataDir, name), join(this.#folder, name), { recursive: true });
  }

  restore(): void {
    for (const name of this.#names(this.#dataDir)) rmSync(join(this.#dataDir, name), { recursive: true });
    cpSync(this.#folder, this.#dataDir, { recursive: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }

  #names(folder: string): string[] {
    return readdirSync(folder).filter((name) =>
      /^(member\.json|nats\.json|store-seen\.json|config-copy\.db.*|nats)$/.test(name),
    );
  }
}

async function removeByRebalance(from: NodeProcess, leaving: NodeProcess): Promise<void> {
  const { nodes } = (await (await leaving.request('/pools/default')).json()) as {
    nodes: { otpNode: string; thisNode?: boolean }[];
  };
  const knownNodes = nodes.map(({ otpNode }) => otpNode).join(',');
  const ejectedNodes = nodes.find(({ thisNode }) => thisNode)?.otpNode ?? '';
  await post(from, '/controller/rebalance', { knownNodes, ejectedNodes });
  await eventuallyWithin(waitLimitMs, async () => {
    const pool = (await (await from.request('/pools/default')).json()) as { nodes: []; balanced: boolean };
    assert.deepEqual([pool.nodes.length, pool.balanced], [nodes.length - 1, true]);
  });
}

/** Changes the configuration by the first node; the change must reach all. */
async function assertChanges(nodes: readonly NodeProcess[], name: string): Promise<void> {
  await eventuallyWithin(waitLimitMs, () =>
    post(nodes[0] as NodeProcess, '/pools/default', { clusterName: name }),
  );
  for (const node of nodes)
    await eventuallyWithin(waitLimitMs, async () => assert.equal(await clusterName(node), name));
}

/** Enough for each node to have some. */
const keyCount = 40;
const keyOf = (at: number): string => `k${at % keyCount}`;

/** Each shard gets its copies in sync by itself. Until then it refuses durable writes. */
async function untilInSync(collection: Collection): Promise<void> {
  for (let at = 0; at < keyCount; at++)
    await eventuallyWithin(waitLimitMs, () => collection.upsert(keyOf(at), 'in sync', majority));
}

/** On a busy machine a node can pause for longer than a copy may while it counts as in sync: then a write is refused, and repeated. */
async function write(collection: Collection, at: number): Promise<void> {
  for (;;)
    try {
      await collection.upsert(keyOf(at), at, majority);
      return;
    } catch (error) {
      if (!(error instanceof DurabilityImpossibleError)) throw error;
      await pause(100);
    }
}

/** Writes durable documents until it is stopped. Stopping it returns how many there are, at least `least`, and fails if one write did. */
function writing(collection: Collection): { stop(least: number): Promise<number> } {
  let stopAt = Number.POSITIVE_INFINITY;
  const run = async (): Promise<number> => {
    for (let at = 0; ; at++) {
      if (at >= stopAt) return at;
      await write(collection, at);
      // Most of the processor time is for what happens meanwhile.
      await pause(20);
    }
  };
  const running = run();
  running.catch(() => {});
  return {
    stop(least) {
      stopAt = least;
      return running;
    },
  };
}

describe('three nodes that run the servers of their configuration', { skip: needs('nats-server') }, () => {
  it('move it there without a failed write, and continue when servers and nodes are killed', async () => {
    // A node that was down looks for the others where they were.
    const ports = { 'dist-tls': await freePort() };
    await using first = await NodeProcess.start({ args: engine, startMs, ports });
    await using second = await NodeProcess.start({
      args: [...engine, '--join', first.ready.node.rest],
      startMs,
    });
    await post(first, '/pools/default/buckets', { name: 'b', ramQuotaMB: '100', replicaNumber: '1' });
    const client = await connect(`couchbase://${first.ready.node.kv}`, administrator);
    const collection = client.bucket('b').defaultCollection();
    await untilInSync(collection);
    assert.equal(serversOf(first), null);

    const writes = writing(collection);
    await using third = await NodeProcess.start({
      args: [...engine, '--join', first.ready.node.rest],
      startMs,
    });
    const nodes = [first, second, third];
    for (const node of nodes)
      await eventuallyWithin(waitLimitMs, () => assert.match(serversOf(node) ?? '', /^tls:\/\/divan:/));
    await assertChanges(nodes, 'on three servers');
    const written = await writes.stop(keyCount);
    for (let at = written - keyCount; at < written; at++)
      assert.equal((await collection.get(keyOf(at))).content, at);
    await client.close();

    for (const [at, node] of nodes.entries()) {
      const pid = serverPid(node);
      process.kill(pid, 'SIGKILL');
      await assertChanges(nodes, `server ${at} died`);
      await eventuallyWithin(waitLimitMs, () => assert.ok(serverPid(node) !== pid && runs(serverPid(node))));
    }
    const pid = serverPid(second);
    await second.stop('SIGKILL');
    await eventuallyWithin(waitLimitMs, () => assert.equal(runs(pid), false));
    using kept = new KeptConfiguration(second);
    await assertChanges([first, third], 'a node died');
    await using again = await NodeProcess.start({ args: engine, dataDir: second.dataDir, startMs });
    await assertChanges([again, first, third], 'it is back');
    await first.stop('SIGKILL');
    asBeforeItFollowed(first);
    rmSync(join(first.dataDir, 'engine-move.json'));
    await using lost = await NodeProcess.start({ args: engine, dataDir: first.dataDir, startMs, ports });
    assert.match(lost.output, /NATS servers of the cluster store the configuration now/);
    assert.match(serversOf(lost) ?? '', /^tls:/);
    await assertChanges([lost, again, third], 'a founder is back that was lost before the move');
    await lost.stop('SIGKILL');
    asBeforeItFollowed(first);
    await using founder = await NodeProcess.start({ args: engine, dataDir: first.dataDir, startMs, ports });
    assert.match(serversOf(founder) ?? '', /^tls:/);
    await assertChanges([founder, again, third], 'the founder found its last change');

    const later = await connect(`couchbase://${founder.ready.node.kv},${again.ready.node.kv}`, administrator);
    await untilInSync(later.bucket('b').defaultCollection());
    const during = writing(later.bucket('b').defaultCollection());
    await removeByRebalance(founder, third);
    await assertChanges([founder, again], 'at a founder again');
    await during.stop(10);
    await later.close();
    for (const node of [founder, again]) {
      assert.equal(serversOf(node), null);
      await eventuallyWithin(waitLimitMs, () => assert.equal(existsSync(join(node.dataDir, 'nats')), false));
    }
    await again.stop('SIGKILL');
    kept.restore();
    await using returned = await NodeProcess.start({ args: engine, dataDir: second.dataDir, startMs });
    await assertChanges([founder, returned], 'it was down meanwhile');
    assert.equal(serversOf(returned), null);
    // The nodes remove the folders of their servers when all that writes to them has ended.
    const last = [founder, returned, third];
    const pids = last.filter(({ dataDir }) => existsSync(join(dataDir, 'nats'))).map(serverPid);
    for (const running of last) await running.stop();
    for (const left of pids) assert.equal(runs(left), false);
    for (const { output } of [first, second, third]) assert.ok(!/divan:[\w-]{32}@/.test(output));
  });
});

it('a node that cannot run the server says how to get it, and leaves nothing behind', async () => {
  const args = ['--engine', 'nats', '--nats-server', '/nowhere/nats-server'];
  await assert.rejects(
    NodeProcess.start({ args, startMs }),
    /\/nowhere\/nats-server cannot be used as nats-server: .*get version 2\.12 or later from https:/,
  );
  await assert.rejects(
    NodeProcess.start({ args: args.slice(2), startMs }),
    /--nats-server needs --engine nats/,
  );
});

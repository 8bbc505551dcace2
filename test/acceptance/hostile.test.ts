// Random and mutated frames and forms against a real node: it must not crash, hang or grow, and must not disturb others.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, Collection } from 'couchbase';
import { prng } from '#base/prng.ts';
import { portNumber } from '../support/addresses.ts';
import { attackData, attackRest, bombard, framesPerConnection } from '../support/hostile-input.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';
import { printedSeed } from '../support/seed.ts';

const seed = printedSeed(console.log);
const frames = 5_000;
const requests = 1_500;
const requestsPerConnection = 10;
/** By how much the node may grow: each thread keeps memory until its garbage collector runs. */
const growthMaxKb = 150_000;
/** By how much the node may grow with two large documents in memory. */
const largeGrowthMaxKb = 300_000;
const largeBytes = 19_000_000;

describe(`hostile input, DIVAN_SEED=${seed}`, () => {
  let node: NodeProcess;
  let cluster: Cluster;
  let collection: Collection;

  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    collection = cluster.bucket('b').defaultCollection();
    await collection.upsert('normal', { v: 0 });
  });
  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
  });

  test('the node survives mutated and random frames on the data port', async (t) => {
    const port = portNumber(node.ready.node.kv);
    const answers = new Map<number, number>();
    await attackWhileClientWorks(collection, node, () =>
      bombard(frames / framesPerConnection, prng(seed), (random) => attackData(port, random, answers)),
    );
    const answered = [...answers.values()].reduce((sum, count) => sum + count, 0);
    const succeeded = answers.get(0) ?? 0;
    t.diagnostic(`${answered} of ${frames} frames answered, ${succeeded} fine, ${answers.size} statuses`);
    assert.ok(answered > frames * 0.7, `only ${answered} frames were answered`);
    assert.ok(
      succeeded > frames * 0.02 && answers.size > 15,
      'too few frames succeed, or the replies have too few different statuses',
    );
  });

  test('the node survives mutated and random requests on the REST port', async () => {
    const address = node.ready.node.rest.replace('http://', '');
    await attackWhileClientWorks(collection, node, () =>
      bombard(requests / requestsPerConnection, prng(seed + 1), (random) =>
        attackRest(address, random, requestsPerConnection),
      ),
    );
    assert.equal((await node.request('/pools/default/buckets/b')).status, 200);
  });

  test('the node frees the memory of large requests', async (t) => {
    const before = residentKb(node.pid);
    // Random, since the SDK compresses what it can.
    const value = randomBytes(largeBytes);
    const timeout = 60_000;
    // Together they are larger than what the node may grow by.
    for (let count = 0; count < 20; count++)
      await collection.upsert(`large-${count % 2}`, value, { timeout });
    const grown = residentKb(node.pid) - before;
    t.diagnostic(`the node grew by ${grown} kB`);
    assert.ok(grown < largeGrowthMaxKb, `the node grew by ${grown} kB`);
    assert.ok(value.equals((await collection.get('large-1', { timeout })).content));
  });
});

/** Runs an attack while a normal client works, which must not be affected, and checks the node afterwards. */
async function attackWhileClientWorks(
  collection: Collection,
  node: NodeProcess,
  attack: () => Promise<void>,
): Promise<void> {
  const attackEnd = { isReached: false };
  const before = residentKb(node.pid);
  const normal = writeAndRead(collection, attackEnd);
  await attack();
  attackEnd.isReached = true;
  const rounds = await normal;
  assert.ok(rounds > 10, `only ${rounds} rounds of the normal client succeeded during the attack`);
  assert.ok(node.running, `the node ended: ${node.output.slice(-2000)}`);
  const grown = residentKb(node.pid) - before;
  assert.ok(grown < growthMaxKb, `the node grew by ${grown} kB`);
}

async function writeAndRead(collection: Collection, end: { isReached: boolean }): Promise<number> {
  let rounds = 0;
  for (; !end.isReached; rounds++) {
    await collection.upsert(`normal-${rounds % 100}`, { rounds });
    assert.deepEqual((await collection.get(`normal-${rounds % 100}`)).content, { rounds });
    // Without a pause this client would take more processor time than the attack.
    await pause(5);
  }
  return rounds;
}

const residentKb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

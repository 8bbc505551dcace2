// Buckets with documents move between nodes while the official SDK writes: no write fails, none that was acknowledged is lost, and in the
// end all copies are equal.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cluster, type Collection, DurabilityLevel } from 'couchbase';
import { assertEqualCopies, heldBy } from '../support/cluster-copies.ts';
import { addNode } from '../support/join-nodes.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const waitLimitMs = 240_000;
const writers = 4;
const keysPerWriter = 100;
/** The pause between two writes of a writer. Without pauses the writes, and not the moves, would be most of the processor time. */
const pauseMs = 25;
/** Every seventh change of a document removes it. */
const changesPerRemoval = 7;
/** The names that a cluster gives its first node, and the next ones with the same address. */
const names = ['ns_1@127.0.0.1', 'n_1@127.0.0.1', 'n_2@127.0.0.1'];

/** Writes and removes documents with at most one operation for a key at a time, and records what was acknowledged. */
class Load {
  /** By key the number that was written last; null: the document was removed. */
  readonly acknowledged = new Map<string, number | null>();
  readonly failures: unknown[] = [];
  isDurable = false;
  count = 0;
  longestMs = 0;
  readonly #collection: Collection;
  readonly #running: Promise<void>[];
  #isOver = false;

  constructor(collection: Collection) {
    this.#collection = collection;
    this.#running = Array.from({ length: writers }, (_, writer) => this.#write(writer));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  async #write(writer: number): Promise<void> {
    for (let i = 0; !this.#isOver; i++) {
      const key = `key-${writer + writers * (i % keysPerWriter)}`;
      const isRemoval = i % changesPerRemoval === 0 && typeof this.acknowledged.get(key) === 'number';
      const durabilityLevel = this.isDurable && i % 2 === 0 ? DurabilityLevel.Majority : DurabilityLevel.None;
      const startedMs = performance.now();
      try {
        if (isRemoval) await this.#collection.remove(key, { durabilityLevel, timeout: 60_000 });
        else await this.#collection.upsert(key, { i }, { durabilityLevel, timeout: 60_000 });
        this.acknowledged.set(key, isRemoval ? null : i);
      } catch (error) {
        this.failures.push(error);
      }
      this.count++;
      this.longestMs = Math.max(this.longestMs, performance.now() - startedMs);
      await pause(pauseMs);
    }
  }
}

const newNode = () => NodeProcess.start({ unprovisioned: true, args: ['--services', 'kv'] });

async function rebalance(first: NodeProcess, knownNodes: readonly string[], ejected: readonly string[] = []) {
  const form = { knownNodes: knownNodes.join(','), ejectedNodes: ejected.join(',') };
  const answer = await first.request('/controller/rebalance', 'POST', form);
  assert.deepEqual([answer.status, await answer.text()], [200, '']);
  await eventuallyWithin(waitLimitMs, async () => {
    const answers = (await (await first.request('/pools/default/tasks')).json()) as {
      [field: string]: unknown;
      type: string;
    }[];
    const task = answers.find(({ type }) => type === 'rebalance');
    assert.equal(task?.['status'], 'notRunning');
    assert.equal(task?.['errorMessage'], undefined, await (await first.request('/logs')).text());
  });
}

async function bucketOn(first: NodeProcess, replicas: number): Promise<Cluster> {
  const bucket = { name: 'b', ramQuotaMB: '100', replicaNumber: `${replicas}` };
  assert.equal((await first.request('/pools/default/buckets', 'POST', bucket)).status, 202);
  const cluster = await connect(`couchbase://${first.ready.node.kv}`, administrator);
  await eventuallyWithin(waitLimitMs, () => cluster.bucket('b').defaultCollection().upsert('first', {}));
  return cluster;
}

/** Fails unless the active vbuckets have the last acknowledged change of each key. */
function assertAcknowledged(documents: ReadonlyMap<string, string>, load: Load): void {
  assert.deepEqual(load.failures, []);
  assert.ok(load.acknowledged.size > 100, `only ${load.acknowledged.size} keys were written`);
  for (const [key, i] of load.acknowledged) {
    const found = documents.get(`\0${key}`);
    if (i === null) assert.ok(found === undefined || /^\["deletion"/.test(found), `${key}: ${found}`);
    else assert.match(found ?? 'nothing', new RegExp(`\\{\\\\"i\\\\":${i}\\}`), key);
  }
}

let first: NodeProcess;
/** Each test begins and ends with this node outside of the cluster. */
let second: NodeProcess;
before(async () => {
  first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256'] });
  second = await newNode();
});
after(async () => {
  for (const node of [first, second]) await node?.[Symbol.asyncDispose]();
});

test('half of a bucket without copies moves to an added node and back', async (t) => {
  const cluster = await bucketOn(first, 0);
  await using load = new Load(cluster.bucket('b').defaultCollection());
  load.isDurable = true;
  await addNode(first, second);
  await rebalance(first, names.slice(0, 2));
  assert.equal((await heldBy(second, 'b')).size, 512);
  assert.equal((await heldBy(first, 'b')).size, 512);
  await rebalance(first, names.slice(0, 2), names.slice(1, 2));
  await load.end();
  await cluster.close();
  t.diagnostic(`${load.count} writes, the longest took ${Math.round(load.longestMs)} ms`);
  assertAcknowledged(await assertEqualCopies([first], 'b', 0), load);
  assert.equal((await first.request('/pools/default/buckets/b', 'DELETE')).status, 200);
});

test('a bucket with copies moves to a second and a third node, and off the second', async (t) => {
  await using third = await newNode();
  const cluster = await bucketOn(first, 1);
  await using load = new Load(cluster.bucket('b').defaultCollection());
  // Until a removed node listens on all its ports it cannot be added.
  await eventuallyWithin(waitLimitMs, () => addNode(first, second));
  await rebalance(first, names.slice(0, 2));
  load.isDurable = true;
  await addNode(first, third);
  await rebalance(first, names);
  await rebalance(first, names, names.slice(1, 2));
  await load.end();
  await cluster.close();
  t.diagnostic(`${load.count} writes, the longest took ${Math.round(load.longestMs)} ms`);
  let documents: Map<string, string> = new Map();
  await eventuallyWithin(waitLimitMs, async () => {
    documents = await assertEqualCopies([first, third], 'b', 1);
  });
  assertAcknowledged(documents, load);
});

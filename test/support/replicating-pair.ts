// Two clusters of one node each that the tests of a file share: each test makes the bucket `b` on them, which is removed after it with all
// replications.

import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { portNumber } from './addresses.ts';
import { eventually, NodeProcess } from './node-process.ts';
import { bodyOf, clientOf, taskOf } from './xdcr.ts';

type Side = 'source' | 'target';

export class ReplicatingPair {
  readonly #nodes = {} as Record<Side, NodeProcess>;
  /** Processes that were killed; they remove the folders at the end. */
  readonly #killed: NodeProcess[] = [];

  /** To be called outside of all tests. */
  static forTests(): ReplicatingPair {
    const pair = new ReplicatingPair();
    before(async () => {
      for (const side of ['source', 'target'] as const) pair.#nodes[side] = await NodeProcess.start();
    });
    afterEach(() => pair.#reset());
    after(async () => {
      for (const node of [...Object.values(pair.#nodes), ...pair.#killed]) await node[Symbol.asyncDispose]();
    });
    return pair;
  }

  get source(): NodeProcess {
    return this.#nodes.source;
  }

  get target(): NodeProcess {
    return this.#nodes.target;
  }

  async kill(side: Side): Promise<void> {
    await this.#nodes[side].stop('SIGKILL');
  }

  /** Starts a node that was killed, on its folder and its ports. */
  async start(side: Side): Promise<void> {
    const killed = this.#nodes[side];
    const { rest, kv } = killed.ready.node;
    const ports = { rest: portNumber(rest), kv: portNumber(kv) };
    this.#killed.push(killed);
    this.#nodes[side] = await NodeProcess.start({ dataDir: killed.dataDir, ports });
  }

  async createBuckets(more: Record<string, string> = {}): Promise<void> {
    for (const node of [this.source, this.target]) await this.createBucket(node, more);
  }

  async createBucket(node: NodeProcess, more: Record<string, string> = {}): Promise<void> {
    const form = { name: 'b', ramQuotaMB: '100', ...more };
    await eventually(async () =>
      assert.equal((await node.request('/pools/default/buckets', 'POST', form)).status, 202),
    );
    await eventually(async () => (await clientOf(node)).close());
  }

  async #reset(): Promise<void> {
    for (const node of [this.source, this.target]) await removeReplications(node);
    for (const node of [this.source, this.target]) {
      const { status } = await node.request('/pools/default/buckets/b', 'DELETE');
      assert.ok(status === 200 || status === 404, `the answer to the removal of the bucket is ${status}`);
    }
  }
}

async function removeReplications(node: NodeProcess): Promise<void> {
  for (let task = await taskOf(node); task !== undefined; task = await taskOf(node))
    await node.request(task.cancelURI, 'DELETE').then(bodyOf);
  const path = '/pools/default/remoteClusters';
  for (const { name } of (await node.request(path).then(bodyOf)) as { name: string }[])
    await node.request(`${path}/${name}`, 'DELETE').then(bodyOf);
}

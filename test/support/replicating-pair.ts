// Two clusters of one node each that the tests of a file share: each test makes the bucket `b` on them, which is removed after it with all
// replications.
import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { eventually, NodeProcess } from './node-process.ts';
import { bodyOf, clientOf, taskOf } from './xdcr.ts';

export class ReplicatingPair {
  readonly #nodes: NodeProcess[] = [];

  /** To be called outside of all tests. */
  static forTests(): ReplicatingPair {
    const pair = new ReplicatingPair();
    before(async () => {
      for (let count = 0; count < 2; count++) pair.#nodes.push(await NodeProcess.start());
    });
    afterEach(() => pair.#reset());
    after(async () => {
      for (const node of pair.#nodes) await node[Symbol.asyncDispose]();
    });
    return pair;
  }

  get source(): NodeProcess {
    return this.#nodes[0] as NodeProcess;
  }

  get target(): NodeProcess {
    return this.#nodes[1] as NodeProcess;
  }

  async createBuckets(more: Record<string, string> = {}): Promise<void> {
    for (const node of this.#nodes) await this.createBucket(node, more);
  }

  async createBucket(node: NodeProcess, more: Record<string, string> = {}): Promise<void> {
    const form = { name: 'b', ramQuotaMB: '100', ...more };
    await eventually(async () =>
      assert.equal((await node.request('/pools/default/buckets', 'POST', form)).status, 202),
    );
    await eventually(async () => (await clientOf(node)).close());
  }

  async #reset(): Promise<void> {
    for (const node of this.#nodes) await removeReplications(node);
    for (const node of this.#nodes) {
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

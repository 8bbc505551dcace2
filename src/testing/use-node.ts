// useNode(): the hooks of a test file that start a node, reset it between tests and stop it. The test framework's functions are passed in.
import { startNode } from './start-node.ts';
import type { StartNodeOptions, TestHooks, TestNode, UsedNode } from './types.ts';

export function useNode(hooks: TestHooks, options: StartNodeOptions = {}): UsedNode {
  const { before = hooks.beforeAll, after = hooks.afterAll, beforeEach } = hooks;
  if (before === undefined) throw new TypeError('useNode: before (or beforeAll) is missing');
  if (after === undefined) throw new TypeError('useNode: after (or afterAll) is missing');
  if (beforeEach === undefined) throw new TypeError('useNode: beforeEach is missing');
  let node: TestNode | undefined;
  let isFresh = true;
  const start = Promise.withResolvers<TestNode>();
  start.promise.catch(() => {}); // the hook reports it
  before(async () => {
    start.resolve(startNode(options));
    node = await start.promise;
  });
  beforeEach(async () => {
    if (!isFresh) await node?.reset();
    isFresh = false;
  });
  after(async () => node?.stop());
  return {
    started: start.promise,
    get node(): TestNode {
      if (node === undefined) throw new Error('useNode: the node starts before the first test, not yet here');
      return node;
    },
  };
}

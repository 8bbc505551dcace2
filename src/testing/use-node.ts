// useNode(): the hooks of a test file that start a node, reset it between tests and stop it. The test framework's functions are passed in.
import { startMsDefault, startNode } from './start-node.ts';
import type {
  RegisterHook,
  RegisterTimedHook,
  StartNodeOptions,
  TestHooks,
  TestNode,
  UsedNode,
} from './types.ts';

/** By how much the timeout of the hooks is longer than that of a start, so that a failed start is reported by startNode(), not as a timeout. */
const hookMarginMs = 5_000;

export function useNode(hooks: TestHooks, options: StartNodeOptions = {}): UsedNode {
  const { beforeEach } = hooks;
  const timeoutMs = (options.startMs ?? startMsDefault) + hookMarginMs;
  const before = hooks.before ?? withTime(hooks.beforeAll, timeoutMs);
  const after = hooks.after ?? withTime(hooks.afterAll, timeoutMs);
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
      if (node === undefined)
        throw new Error('useNode: the node is not started yet; use it in tests and hooks only');
      return node;
    },
  };
}

const withTime = (register: RegisterTimedHook | undefined, timeoutMs: number): RegisterHook | undefined =>
  register && ((run) => register(run, timeoutMs));

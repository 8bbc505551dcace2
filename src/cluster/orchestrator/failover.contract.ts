// Routes of failovers, and of the recovery of nodes after one.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';

const pools: Access = { kind: 'permission', permission: 'cluster.pools!write' };
const common = { method: 'POST', access: pools, bodyKind: 'form' } as const;
const list = { json: shape.array(shape.any) };

export const FailOver = defineRoute({
  ...common,
  id: 'node_failover.start_and_wait',
  path: '/controller/failOver',
  repeatable: ['otpNode'],
  doc: 'Removes failed nodes from the maps of all buckets, and returns when that is done: another copy serves their shards; the documents of a shard without one are lost. `otpNode` may repeat. Without `allowUnsafe=true` it is refused where this node does not reach a majority of the active nodes, or where no remaining copy of some shard is sure to have every durable write; with it such writes may be lost.',
});

export const StartFailover = defineRoute({
  ...common,
  id: 'node_failover.start',
  path: '/controller/startFailover',
  repeatable: ['otpNode'],
  doc: 'Does what `/controller/failOver` does, but returns at once; progress is in the tasks.',
});

export const StartGracefulFailover = defineRoute({
  ...common,
  id: 'node_failover.start_graceful',
  path: '/controller/startGracefulFailover',
  repeatable: ['otpNode'],
  doc: 'Moves the active shards of running nodes to their copies on other nodes, one after the other and without a failed write, then removes the nodes from all maps; returns at once. Needs a copy of every shard on other nodes. Progress is in the tasks; `stopRebalance` stops it.',
});

export const SetRecoveryType = defineRoute({
  ...common,
  id: 'node_failover.set_recovery',
  path: '/controller/setRecoveryType',
  answer: list,
  doc: 'Says how a node that was failed over is recovered with the next rebalance: `recoveryType` is `full` or `delta`.',
});

export const ReAddNode = defineRoute({
  ...common,
  id: 'node_failover.re_add',
  path: '/controller/reAddNode',
  answer: list,
  doc: 'Does what `/controller/setRecoveryType` does with `recoveryType=full`.',
});

export const ReFailOver = defineRoute({
  ...common,
  id: 'node_failover.again',
  path: '/controller/reFailOver',
  doc: 'Cancels the recovery of a node: it stays failed over.',
});

// The list of background tasks.

import type { Form } from '#contract/route.ts';
import { bucketUri } from '../bootstrap/terse-config.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { MeasuredBucket, WarmUpFigures } from '../config/data-service.ts';
import { logCollectionTask } from '../log-collection/log-collection.contract.ts';
import type { LogCollectionState } from '../log-collection/log-collection.ts';
import { type NodeSnapshot, statusOf } from '../nodes/node-record.ts';
import { rebalanceTask } from '../orchestrator/rebalance-report.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';

/** The range of the parameter `rebalanceStatusTimeout`, which has no effect: the list needs no other node for the rebalance. */
const timeoutMs = { min: 1_000, max: 120_000 };
/** How often clients are to read the tasks of this file. */
const refreshSeconds = 2;

export function tasks(
  view: ClusterView,
  nodes: readonly Pick<NodeSnapshot, 'node' | 'measured'>[],
  query: Form,
  logCollection: LogCollectionState | null,
  ofServices: readonly Record<string, unknown>[],
): Record<string, unknown>[] {
  checkTimeout(query['rebalanceStatusTimeout']);
  const { otpNode } = view.self;
  const deleting = view.deletingBuckets();
  const common = { recommendedRefreshPeriod: refreshSeconds, status: 'running' };
  return [
    ...deleting.map(({ name }) => ({ type: 'orphanBucket', bucket: name, nodes: [otpNode], ...common })),
    rebalanceTask(view),
    ...ofServices,
    ...(logCollection ? [logCollectionTask(logCollection)] : []),
    ...view.liveBuckets().flatMap(({ name, uuid }) => {
      const running = nodes.flatMap(({ measured }) => measured.get(uuid)?.compaction ?? []);
      return running.length === 0 ? [] : [compactionTask(name, running)];
    }),
    ...view.liveBuckets().flatMap(({ name, uuid }) =>
      nodes.flatMap(({ node, measured: ofBuckets }) => {
        const measured = ofBuckets.get(uuid);
        if (measured === undefined || !isWarming(measured)) return [];
        const stats = measured?.warmUp ? warmUpStats(measured.warmUp) : {};
        return [{ type: 'warming_up', bucket: name, node: node.otpNode, stats, ...common }];
      }),
    ),
  ];
}

/** One task for the bucket, whose files each node compacts. */
function compactionTask(name: string, running: readonly NonNullable<MeasuredBucket['compaction']>[]) {
  const done = running.reduce((sum, compaction) => sum + compaction.done, 0);
  const total = running.reduce((sum, compaction) => sum + compaction.total, 0);
  const [cancel] = running.flatMap(({ origin }) => cancelCalls[origin] ?? []);
  const uri = `${bucketUri(name)}/controller/`;
  return {
    type: 'bucket_compaction',
    recommendedRefreshPeriod: refreshSeconds,
    status: 'running',
    bucket: name,
    changesDone: done,
    totalChanges: total,
    progress: total === 0 ? 0 : Math.floor((100 * done) / total),
    ...(cancel !== undefined && { cancelURI: uri + cancel }),
  };
}

/** True until all values are loaded, also while the bucket already answers requests. */
const isWarming = (measured: MeasuredBucket | null): boolean =>
  statusOf(measured) === 'warmup' || measured?.warmUp?.state === 'values';

/** Named as in the statistics group `warmup` of the data port. */
function warmUpStats({ state, keys, values, expected, keysMs }: WarmUpFigures): Record<string, string> {
  return {
    ep_warmup: 'enabled',
    ep_warmup_state: warmUpStates[state],
    ep_warmup_thread: state === 'done' ? 'complete' : 'running',
    ep_warmup_key_count: String(keys),
    ep_warmup_value_count: String(values),
    ep_warmup_estimated_key_count: String(expected),
    ep_warmup_estimated_value_count: String(expected),
    ep_warmup_keys_time: String(Math.round(keysMs * 1000)),
  };
}

const warmUpStates = {
  opening: 'initialize',
  keys: 'loading keys',
  values: 'loading data',
  done: 'done',
} as const;

/** Only compactions that a client started can be cancelled. */
const cancelCalls: Record<string, string | undefined> = {
  bucket: 'cancelBucketCompaction',
  databases: 'cancelDatabasesCompaction',
};

function checkTimeout(sent: string | undefined): void {
  if (sent === undefined) return;
  const value = /^\d{1,9}$/.test(sent) ? Number(sent) : 0;
  if (value >= timeoutMs.min && value <= timeoutMs.max) return;
  throw nodeRefusals.invalidRebalanceTimeout();
}

// The configuration with which a member begins when it takes over as founder: every record gets a revision above all that any node can
// have seen of the founder before, and the failover of the failed nodes is planned in the same state.
import type { StoreContent, StoredRecord } from '#replog/mirror/config-link.ts';
import { type BucketMap, type ClusterState, clusterKey, mapPrefix } from '../config/cluster-state.ts';
import { withCounter } from '../orchestrator/counters.ts';
import { failoverPlan } from '../orchestrator/failover-plan.ts';
import { type OrchestratorState, orchestratorKey } from '../orchestrator/orchestrator-lease.ts';

/** Added to the newest revision that this member has seen: more changes than a founder makes in half a year. */
const revisionsUnseen = 2 ** 24;
/** Added to the newest epoch of a shard whose active failed: more epochs than it can have had since this member saw one. */
const epochsUnseen = 1_000;

export interface TakeOver {
  /** The node that takes over, with the boot of its process. */
  readonly node: string;
  readonly boot: string;
  readonly epoch: number;
  /** Ids of the failed nodes, the founder among them. */
  readonly failing: readonly string[];
  readonly planId: string;
  readonly startedMs: number;
}

export function takenOver({ revision, records }: StoreContent, change: TakeOver): StoreContent {
  const present = records.filter(({ json }) => json !== null).sort((a, b) => a.revision - b.revision);
  const begin = revision + revisionsUnseen;
  const changed = present.map(
    ({ key, json }, at): StoredRecord => ({
      key,
      revision: begin + at + 1,
      writes: null,
      json: JSON.stringify(valueAfter(key, JSON.parse(json as string), change)),
    }),
  );
  return { revision: begin + changed.length, records: changed };
}

/** The configuration as its founder hands it over: nothing but the founder and the epoch changes. */
export function handedOver({ revision, records }: StoreContent, to: string): StoreContent {
  const next = revision + 1;
  const changed = records.map((record) => {
    if (record.key !== clusterKey) return record;
    const state = JSON.parse(record.json as string) as ClusterState;
    const after: ClusterState = { ...state, founder: to, revEpoch: (state.revEpoch ?? 1) + 1 };
    return { ...record, json: JSON.stringify(after), revision: next };
  });
  return { revision: next, records: changed };
}

function valueAfter(key: string, value: unknown, change: TakeOver): unknown {
  if (key === clusterKey) return clusterAfter(value as ClusterState, change);
  if (key === orchestratorKey) return orchestratorAfter(value as OrchestratorState, change);
  return key.startsWith(mapPrefix) ? mapAfter(value as BucketMap, change) : value;
}

/** Ends a rebalance that was running: the failover removes its unfinished moves from the maps. */
function clusterAfter(before: ClusterState, change: TakeOver): ClusterState {
  const { balance, ...rest } = before;
  const stopped = balance === undefined ? rest : withCounter(rest, balance.kind, 'fail');
  const state = { ...stopped, founder: change.node, revEpoch: change.epoch };
  const failing = state.nodes.filter(({ uuid }) => change.failing.includes(uuid));
  const { planId: id, startedMs } = change;
  return failoverPlan(state, failing, { id, kind: 'failover', allowUnsafe: true, startedMs });
}

const orchestratorAfter = ({ term }: OrchestratorState, { node, boot }: TakeOver): OrchestratorState => ({
  node,
  boot,
  term: term + 1,
});

/** No copy may get an epoch for a second time: a failed active may have confirmed later ones in the store that is lost. */
function mapAfter(map: BucketMap, { failing }: TakeOver): BucketMap {
  const shards = map.shards.map((shard) => {
    const active = map.nodes[shard.chain[0] ?? -1];
    if (active === undefined || !failing.includes(active)) return shard;
    const { confirmed: _, stopped: __, ...rest } = shard;
    return { ...rest, epoch: shard.epoch + epochsUnseen };
  });
  return { ...map, shards };
}

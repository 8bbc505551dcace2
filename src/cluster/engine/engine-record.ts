// The record of the NATS servers on which nodes of the cluster keep the configuration, and the content with which the configuration moves to
// these servers and back. While there is no record, the configuration is at the founder, or on NATS servers that an operator runs. In a founder's
// store this record is the last change: the configuration is on the servers from then on.
import type { SecretBox } from '#auth/secret-box.ts';
import type { StoreContent, StoredRecord } from '#replog/mirror/config-link.ts';
import { endKey } from '#replog/mirror/store-end.ts';
import { type ClusterState, clusterKey } from '../config/cluster-state.ts';
import type { EngineRecord } from '../joining/join-messages.ts';
import { type ServerCluster, serverSourceOf } from './server-plan.ts';

export const engineKey = 'engine/servers';
export const engineSecret = 'servers of the configuration';

export const engineRecordOf = (servers: ServerCluster, secrets: SecretBox): EngineRecord => ({
  nodes: servers.places.map(({ nodeId }) => nodeId),
  source: secrets.seal(engineSecret, JSON.stringify(serverSourceOf(servers))),
  servers: secrets.seal(engineSecret, JSON.stringify(servers)),
});

/** The servers of the record. Null in a record of an earlier version: then no server can be replaced. */
export const serversIn = ({ servers }: EngineRecord, secrets: SecretBox): ServerCluster | null =>
  servers === undefined ? null : (JSON.parse(secrets.open(engineSecret, servers)) as ServerCluster);

/** The first revision of a new store that replaces one at this revision: above every revision that a node can have seen. */
export const firstRevisionAfter = (revision: number): number => revision + 2 ** 20;

/**
 * The records with which the servers begin: those of the founder, with the epoch of revisions raised, and the record of the servers.
 * @throws Error while a node joins, since it looks for the configuration at the founder, and while a rebalance runs.
 */
export function movedToServers(records: readonly StoredRecord[], record: EngineRecord): StoredRecord[] {
  const present = records.filter(({ json, key }) => json !== null && key !== engineKey);
  const moved = present.map((stored) =>
    stored.key === clusterKey ? { ...stored, json: clusterAfter(stored.json as string) } : stored,
  );
  return [...moved, { key: engineKey, json: JSON.stringify(record), revision: 0, writes: null }];
}

function clusterAfter(json: string): string {
  const { founder: _, ...state } = idleStateOf(json);
  return JSON.stringify({ ...state, revEpoch: (state.revEpoch ?? 1) + 1 });
}

/** @throws Error while a node joins or a rebalance runs, which the move would disturb. */
function idleStateOf(json: string): ClusterState {
  const state = JSON.parse(json) as ClusterState;
  if (state.nodes.some(({ joining }) => joining)) throw new Error('a node is joining');
  if (state.balance !== undefined) throw new Error('a rebalance is under way');
  return state;
}

export interface ReturnedContent extends StoreContent {
  /** The epoch in which the founder stores the configuration. */
  readonly epoch: number;
}

/**
 * The configuration as it is when a founder has taken it back from the servers. All nodes compute the same from the servers' records.
 * @throws Error while a node joins or a rebalance runs, and for a founder that is not active.
 */
export function returnedToFounder({ records, revision }: StoreContent, founder: string): ReturnedContent {
  const after = firstRevisionAfter(revision);
  let epoch = 1;
  const kept = records.filter(({ json, key }) => json !== null && key !== engineKey && key !== endKey);
  const returned = kept.map(({ key, json, revision }): StoredRecord => {
    if (key !== clusterKey) return { key, json, revision, writes: null };
    const state = idleStateOf(json as string);
    const node = state.nodes.find(({ uuid }) => uuid === founder);
    if (node?.membership !== 'active') throw new Error(`node ${founder} is not active`);
    epoch = (state.revEpoch ?? 1) + 1;
    return {
      key,
      json: JSON.stringify({ ...state, founder, revEpoch: epoch }),
      revision: after,
      writes: null,
    };
  });
  return { revision: after, records: returned, epoch };
}

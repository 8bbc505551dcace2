// Which nodes are failed over automatically, and why others are not: the published rules, with the texts of the published mails.
import type { AlertKind } from '../alerts/alert-settings.ts';
import { type BucketMap, isDataNode, type NodeState } from '../config/cluster-state.ts';
import { failoverMap } from './failover-map.ts';
import { nodesCountedForFailover } from './members.ts';

/** What an operator gets by mail and as an event, once while the situation lasts. */
export interface Notice {
  readonly kind: AlertKind;
  readonly text: string;
}

export interface FailoverSituation {
  /** All nodes with membership `active`. */
  readonly active: readonly NodeState[];
  /** Ids of the active nodes that do not answer or whose disk fails. */
  readonly down: readonly string[];
  /** Id of the node that stores the configuration; absent: none does. */
  readonly founder?: string | undefined;
  /** Ids of the nodes that have been down for the time that the settings require. */
  readonly ready: readonly string[];
  /** From how many of the active nodes the orchestrator receives heartbeats, itself included. */
  readonly reached: number;
  readonly maxCount: number;
  /** How many nodes were failed over since the last reset. */
  readonly count: number;
  readonly buckets: readonly { readonly name: string; readonly map: BucketMap }[];
  /** Whether a node is not failed over when only that node is sure to have all durable writes of a shard. */
  readonly preservesDurable: boolean;
}

export interface FailoverDecision {
  /** Ids of the nodes to fail over. */
  readonly failing: readonly string[];
  readonly notices: readonly Notice[];
}

const dataNodesMin = 2;

type Named = Pick<NodeState, 'otpNode'>;

export function decideFailover(situation: FailoverSituation): FailoverDecision {
  const { active, ready, reached } = situation;
  const candidates = active.filter(({ uuid }) => ready.includes(uuid));
  if (candidates.length === 0) return { failing: [], notices: [] };
  if (2 * reached <= active.length) {
    const text = 'Could not contact majority of servers. Orchestration may be compromised.';
    return { failing: [], notices: [notFailedOver(candidates, text)] };
  }
  const movable = withoutFounder(situation, candidates);
  const redundant = withEnoughLeft(situation, movable.nodes);
  const limited = withinCount(situation, redundant.nodes);
  const problem = problemOfMaps(situation, limited.nodes);
  const notices = [...movable.notices, ...redundant.notices, ...limited.notices];
  if (problem === null) return { failing: limited.nodes.map(({ uuid }) => uuid), notices };
  return { failing: [], notices: [...notices, notFailedOver(limited.nodes, problem)] };
}

export const losesVbuckets = (buckets: readonly string[]): string =>
  `Would lose vbuckets in the following buckets: ${JSON.stringify(buckets)}`;

export const notFailedOver = (nodes: readonly Named[], reason: string): Notice => ({
  kind: 'auto_failover_node',
  text: `Could not automatically fail over nodes (${namesOf(nodes)}). ${reason}`,
});

export const failedOver = (node: Named, reason: string): Notice => ({
  kind: 'auto_failover_node',
  text: `Node (${nameOf(node)}) was automatically failed over. Reason: ${reason}`,
});

export const listChanged = (node: NodeState): Notice => ({
  kind: 'auto_failover_other_nodes_down',
  text: `Could not auto-failover node (${nameOf(node)}). The list of nodes being down has changed.`,
});

interface Chosen {
  readonly nodes: readonly NodeState[];
  readonly notices: readonly Notice[];
}

/** Before the founder is failed over, it hands the configuration over, or another node takes it over: an operator requests that. */
function withoutFounder({ founder }: FailoverSituation, candidates: readonly NodeState[]): Chosen {
  const [held] = candidates.filter(({ uuid }) => uuid === founder);
  if (held === undefined) return { nodes: candidates, notices: [] };
  return {
    nodes: candidates.filter((node) => node !== held),
    notices: [notFailedOver([held], storesConfiguration)],
  };
}

const storesConfiguration = 'The node stores the configuration of the cluster.';

/** Two data nodes must stay, and one node of each other service. For a node that runs the data service, only the rule of that service counts. */
function withEnoughLeft({ active, down }: FailoverSituation, candidates: readonly NodeState[]): Chosen {
  const up = active.filter(({ uuid }) => !down.includes(uuid));
  const data = candidates.filter(isDataNode);
  const dataLeft = nodesCountedForFailover(up, data).length;
  const others = candidates.filter((node) => !isDataNode(node));
  if (data.length > 0 && dataLeft < dataNodesMin) {
    const tooFew = data.map((node) => tooSmall(node, 'data', dataLeft, dataNodesMin));
    return { nodes: [], notices: [...tooFew, ...others.map(dataNodeStays)] };
  }
  const nodes: NodeState[] = [...data];
  const notices: Notice[] = [];
  for (const node of others) {
    const missing = (node.services ?? []).find(
      (service) => !up.some((running) => runsService(running, service)),
    );
    if (missing === undefined) nodes.push(node);
    else notices.push(tooSmall(node, serviceNames[missing] ?? missing, 0, 1));
  }
  return { nodes, notices };
}

function withinCount({ count, maxCount }: FailoverSituation, nodes: readonly NodeState[]): Chosen {
  const sorted = [...nodes].sort((a, b) => (a.otpNode < b.otpNode ? -1 : 1));
  const room = Math.max(0, maxCount - count);
  const excess = sorted.slice(room);
  if (excess.length === 0) return { nodes: sorted, notices: [] };
  const text = `Could not auto-failover more nodes (${namesOf(excess)}). Maximum number of auto-failover nodes (${maxCount}) has been reached.`;
  return { nodes: sorted.slice(0, room), notices: [{ kind: 'auto_failover_maximum_reached', text }] };
}

/** Why these nodes cannot be failed over without loss for a bucket; null: they can. */
function problemOfMaps(
  { buckets, preservesDurable }: FailoverSituation,
  nodes: readonly NodeState[],
): string | null {
  const failed = nodes.map(({ uuid }) => uuid);
  const results = buckets.map(({ name, map }) => ({
    name,
    ...failoverMap(map, { failed, allowUnsafe: false }),
  }));
  const lost = results.filter((result) => result.lost.length > 0).map(({ name }) => name);
  if (lost.length > 0) return losesVbuckets(lost);
  const unsafe = results.filter((result) => result.unsafe.length > 0).map(({ name }) => name);
  if (unsafe.length === 0 || !preservesDurable) return null;
  return `Nodes ${namesOf(nodes)} needed to preserve durability writes on buckets ${JSON.stringify(unsafe)} are down`;
}

const tooSmall = (node: NodeState, service: string, left: number, min: number): Notice => ({
  kind: 'auto_failover_cluster_too_small',
  text: `Could not auto-failover node (${nameOf(node)}). Number of remaining nodes that are running ${service} service is ${left}. You need at least ${min} nodes.`,
});

const dataNodeStays = (node: NodeState): Notice => ({
  kind: 'auto_failover_other_nodes_down',
  text: `Could not auto-failover service node (${nameOf(node)}). One of the data service nodes cannot be automatically failed over.`,
});

const serviceNames: Readonly<Record<string, string>> = { n1ql: 'query' };
const runsService = ({ services }: NodeState, service: string): boolean =>
  services?.includes(service) ?? false;
const nameOf = ({ otpNode }: Named): string => `'${otpNode}'`;
const namesOf = (nodes: readonly Named[]): string => `[${nodes.map(nameOf).join(',')}]`;

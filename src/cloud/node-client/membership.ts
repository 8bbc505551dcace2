// The nodes of a cluster as its founder knows them, and the calls that name, add, rebalance and remove them.
import { type NodeSpec, nodeServiceNames, type Placement } from '../provisioner/provisioner.ts';
import type { NodeClient } from './node-client.ts';

export interface Member {
  /** Identifies the node in REST calls. */
  readonly otpNode: string;
  /** Address and port of its REST API. */
  readonly hostname: string;
  readonly status: string;
  readonly clusterMembership: string;
}

export interface ClusterMembers {
  readonly nodes: readonly Member[];
  readonly balanced: boolean;
  readonly rebalanceStatus: string;
  /** MB on each node. */
  readonly memoryQuota: number;
}

/** The answer comes only when the added node has started as a member. */
const addTimeoutMs = 100_000;
/** The address of all nodes on systems where nodes differ by their ports instead. */
const sharedAddress = '127.0.0.1';

export const membershipOf = async (founder: NodeClient): Promise<ClusterMembers> =>
  JSON.parse(await founder.request('GET', '/pools/default')) as ClusterMembers;

/** Undefined: the node is no member. */
export const memberAt = ({ nodes }: ClusterMembers, node: Placement): Member | undefined =>
  nodes.find(({ hostname }) => hostname === restAddress(node));

/** Sets the host name of a node, before it has other nodes in its cluster, to the address at which they will connect to it. */
export async function nameNode(client: NodeClient, { address }: Placement): Promise<void> {
  if (address === sharedAddress) return;
  await client.request('POST', '/node/controller/rename', { hostname: address });
}

/** The node holds no documents until the next rebalance. */
export async function addNode(founder: NodeClient, node: NodeSpec): Promise<void> {
  const { username: user, password } = node.administrator;
  const services = nodeServiceNames(node.services).join(',');
  const fields = { hostname: `http://${restAddress(node)}`, user, password, services };
  await founder.request('POST', '/controller/addNodeV2', fields, addTimeoutMs);
}

export async function ejectNode(founder: NodeClient, { otpNode }: Member): Promise<void> {
  await founder.request('POST', '/controller/ejectNode', { otpNode });
}

/** A node that was failed over takes part in the next rebalance. */
export async function recoverNode(founder: NodeClient, { otpNode }: Member): Promise<void> {
  await founder.request('POST', '/controller/setRecoveryType', { otpNode, recoveryType: 'full' });
}

/** Starts to spread the documents over all nodes but `leaving`, which the rebalance removes from the cluster. */
export async function startRebalance(
  founder: NodeClient,
  { nodes }: ClusterMembers,
  leaving: readonly Member[],
): Promise<void> {
  const names = (members: readonly Member[]): string => members.map(({ otpNode }) => otpNode).join(',');
  const fields = { knownNodes: names(nodes), ejectedNodes: names(leaving) };
  await founder.request('POST', '/controller/rebalance', fields);
}

/** Why the last rebalance failed; undefined if it did not. */
export async function rebalanceProblem(founder: NodeClient): Promise<string | undefined> {
  const progress = JSON.parse(await founder.request('GET', '/pools/default/rebalanceProgress')) as {
    errorMessage?: string;
  };
  return progress.errorMessage;
}

/** Differs after each step of the rebalance. */
export const shownProgress = (founder: NodeClient): Promise<string> =>
  founder.request('GET', '/pools/default/rebalanceProgress');

export async function setMemoryQuota(founder: NodeClient, memoryQuota: number): Promise<void> {
  await founder.request('POST', '/pools/default', { memoryQuota });
}

const restAddress = ({ address, ports }: Placement): string => `${address}:${ports.rest}`;

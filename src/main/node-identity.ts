// Finds the node that a data folder belongs to. A folder written before node ids existed belongs to the only node of its
// configuration.
import { type ClusterState, clusterKey, type NodeState } from '#cluster/config/cluster-state.ts';
import type { NodeIdentity } from '#cluster/config/node-identity.ts';
import { hexId, type Random } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { DataFolder } from './data-folder.ts';
import { StartError } from './start-error.ts';

type IdFile = Pick<DataFolder, 'path' | 'nodeId' | 'keepNodeId'>;

/** Throws StartError when the folder and its configuration belong to different nodes, or no id is kept and there are several nodes. */
export async function ownIdentity(
  folder: IdFile,
  store: Pick<ConfigStore, 'get'>,
  random: Random,
): Promise<NodeIdentity> {
  const nodes = (await store.get<ClusterState>(clusterKey))?.value.nodes ?? [];
  const nodeId = folder.nodeId ?? onlyNode(folder, nodes)?.uuid ?? hexId(random);
  if (nodes.length > 0 && !nodes.some(({ uuid }) => uuid === nodeId)) throw otherNode(folder, nodeId);
  if (folder.nodeId === null) folder.keepNodeId(nodeId);
  return { nodeId, bootId: hexId(random) };
}

function onlyNode({ path }: IdFile, nodes: readonly NodeState[]): NodeState | undefined {
  if (nodes.length < 2) return nodes[0];
  throw new StartError(
    `the file node.id of the data folder ${path} is missing, and its config.db has ${nodes.length} nodes: put the file back`,
  );
}

const otherNode = ({ path }: IdFile, nodeId: string): StartError =>
  new StartError(
    `the config.db of the data folder ${path} has no node ${nodeId}, which its node.id names: one of the two files is of another data folder; put the right one back`,
  );

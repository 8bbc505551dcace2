// Writes the initial configuration of a new node, and updates the node's own entry at each start.
import type { ConfigStore } from '#replog/config-store.ts';
import { ClusterStore } from './config/cluster.store.ts';
import {
  bucketsKey,
  type ClusterState,
  clusterKey,
  type NodePorts,
  type NodeState,
  noBuckets,
} from './config/cluster-state.ts';
import type { NodeIdentity } from './config/node-identity.ts';
import { limitedToFamilies, networkOf } from './config/node-network.ts';
import type { NodeSurroundings } from './provisioning/node-setup.service.ts';
import { defaultQuotasMb } from './provisioning/quotas.ts';

interface Options {
  store: ConfigStore;
  identity: NodeIdentity;
  dataFolder: string;
  memoryBytes: () => number;
  surroundings: Pick<NodeSurroundings, 'families'>;
}

/** The ports of a node's entry before it listens. */
export const unknownPorts: NodePorts = {
  ...{ mgmt: 0, mgmtSSL: 0, kv: 0, kvSSL: 0, capi: 0, capiSSL: 0, distTCP: 0, distTLS: 0 },
};

/** Writes only the keys that do not exist. */
export async function writeFirstConfiguration(options: Options): Promise<void> {
  const { store } = options;
  // A member of a cluster may start while nothing can be written.
  if ((await store.get(clusterKey)) !== null && (await store.get(bucketsKey)) !== null) return;
  const { memoryQuota, ...quotas } = defaultQuotasMb(options.memoryBytes());
  const first: ClusterState = { uuid: '', name: '', quotas, nodes: [firstNode(options)] };
  await store.put(clusterKey, first, 0);
  await store.put(bucketsKey, noBuckets(memoryQuota), 0);
}

function firstNode({ identity, dataFolder }: Options): NodeState {
  return {
    uuid: identity.nodeId,
    otpNode: 'ns_1@cb.local',
    hostname: null,
    membership: 'active',
    services: null,
    ports: unknownPorts,
    paths: {
      data: dataFolder,
      index: dataFolder,
      analytics: [dataFolder],
      eventing: dataFolder,
      javaHome: '',
    },
    alternate: null,
  };
}

/** Writes only differences, because every write makes clients fetch a new configuration. */
export async function updateOwnEntry(options: Options, ports: NodePorts): Promise<void> {
  const { store, identity, dataFolder, surroundings } = options;
  const { nodeId } = identity;
  const network = (node: NodeState) => limitedToFamilies(networkOf(node), surroundings.families);
  const { nodes } = (await store.get<ClusterState>(clusterKey))?.value ?? { nodes: [] };
  const stored = nodes.find(({ uuid }) => uuid === nodeId);
  const isUpToDate =
    stored?.paths.data === dataFolder &&
    stored.joining !== true &&
    samePorts(stored.ports, ports) &&
    network(stored) === networkOf(stored);
  if (isUpToDate) return;
  await new ClusterStore(store, nodeId).changeSelf(({ joining: _done, ...node }) => ({
    ...node,
    ports,
    paths: { ...node.paths, data: dataFolder },
    network: network(node),
  }));
}

const samePorts = (a: NodePorts, b: NodePorts): boolean =>
  (Object.keys({ ...a, ...b }) as (keyof NodePorts)[]).every((name) => a[name] === b[name]);

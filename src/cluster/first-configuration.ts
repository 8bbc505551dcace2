// Writes the initial configuration of a new node.
import type { ConfigStore } from '#replog/config-store.ts';
import {
  bucketsKey,
  type ClusterState,
  clusterKey,
  type NodePorts,
  type NodeState,
  noBuckets,
} from './config/cluster-state.ts';
import type { NodeIdentity } from './config/node-identity.ts';
import { ownVersion } from './config/node-versions.ts';
import { clusterCompatibility } from './config/product.ts';
import { defaultQuotasMb } from './provisioning/quotas.ts';

interface Options {
  store: ConfigStore;
  identity: NodeIdentity;
  dataFolder: string;
  memoryBytes: () => number;
}

/** The ports of a node's entry before it listens. */
export const unknownPorts: NodePorts = {
  mgmt: 0,
  mgmtSSL: 0,
  kv: 0,
  kvSSL: 0,
  capi: 0,
  capiSSL: 0,
  distTCP: 0,
  distTLS: 0,
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
    version: ownVersion,
    compatibility: clusterCompatibility,
  };
}

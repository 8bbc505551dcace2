// Refuses to start a program that is older than the version of its cluster: the configuration may contain parts that this program does
// not know.
import { type ClusterState, clusterKey } from '#cluster/config/cluster-state.ts';
import { clusterVersion, ownVersion, releaseName } from '#cluster/config/node-versions.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { StartError } from './start-error.ts';

/** @throws StartError */
export async function refuseOlderProgram(store: Pick<ConfigStore, 'get'>): Promise<void> {
  const { nodes } = (await store.get<ClusterState>(clusterKey))?.value ?? { nodes: [] };
  const version = nodes.length === 0 ? ownVersion : clusterVersion(nodes);
  if (version > ownVersion)
    throw new StartError(
      `the configuration has version ${releaseName(version)}, this program ${releaseName(ownVersion)}: start the node with the version that it had`,
    );
}

// Names of nodes (`otpNode`): each node has a name that is unique in the cluster (`ns_1@10.0.0.2`), also where several nodes run on one machine.
import type { ClusterState, NodeState } from '../config/cluster-state.ts';

/** An unused name for a node at a host: the first node there is `ns_1`, further ones are `n_1`, `n_2` and so on. */
export function freeOtpNode({ nodes }: Pick<ClusterState, 'nodes'>, host: string): string {
  const usedNames = new Set(nodes.map(({ otpNode }) => otpNode));
  const names = ['ns_1', ...Array.from({ length: nodes.length }, (_, at) => `n_${at + 1}`)];
  return names.map((name) => `${name}@${host}`).find((name) => !usedNames.has(name)) as string;
}

/** The node at this host and port, if there is one. A null host means this machine. */
export const nodeAt = (
  nodes: readonly NodeState[],
  host: string | null,
  { mgmt, mgmtSSL }: { readonly mgmt: number; readonly mgmtSSL: number },
): NodeState | undefined =>
  nodes.find(
    (node) => node.hostname === host && (node.ports.mgmt === mgmt || node.ports.mgmtSSL === mgmtSSL),
  );

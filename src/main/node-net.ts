// Connections with the other nodes of the cluster.
import type { DistPorts } from '#cluster/dist/dist-ports.host.ts';
import type { ClusterManager } from '#cluster/manager.ts';
import type { NodeNet } from '#cluster/peers/inter-node.ts';
import { connectToNode } from '#replog/served/node-connect.adapter.ts';
import { TlsChannel } from '#replog/served/tls-channel.adapter.ts';

export const nodeNet: NodeNet = {
  connect: connectToNode,
  channelOf: (socket) => new TlsChannel(socket),
};

/** Serves other nodes once this node has a certificate for them. */
export function serveNodes(
  { nodeCertificates, interNode }: Pick<ClusterManager, 'nodeCertificates' | 'interNode'>,
  dist: Pick<DistPorts, 'serveNodes'>,
): { stop(): void } {
  const follow = (): void => {
    const own = nodeCertificates.own();
    if (own !== null)
      dist.serveNodes(own, (socket, nodeId, protocol) => interNode.accept(socket, nodeId, protocol));
  };
  const changes = nodeCertificates.onChange(follow);
  follow();
  return changes;
}

// Connections with the other nodes of the cluster.
import type { DistPorts } from '#cluster/dist/dist-ports.host.ts';
import { machinePorts } from '#cluster/hosts/machine.host.ts';
import type { ClusterManager } from '#cluster/manager.ts';
import type { MachinePorts } from '#cluster/manager-options.ts';
import type { NodeNet } from '#cluster/peers/inter-node.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { connectToNode } from '#replog/served/node-connect.adapter.ts';
import { TlsChannel } from '#replog/served/tls-channel.adapter.ts';
import type { NodeOptions } from './node-options.ts';

/** The machine, for the manager. Connections to nodes leave from `--operator-address`: a node of the cloud admits no other. */
export function machineOf(
  options: NodeOptions,
  dataFolder: string,
  log: Log,
): MachinePorts & { net: NodeNet } {
  const { host: listenHost, 'operator-address': localAddress } = options;
  return {
    ...machinePorts({ dataFolder, listenHost, localAddress, clock: realClock, log }),
    net: {
      connect: (address, credentials, protocol) =>
        connectToNode(address, credentials, protocol, localAddress),
      channelOf: (socket) => new TlsChannel(socket),
    },
  };
}

/** Serves other nodes once this node has a certificate for them. */
export function serveNodes(
  { nodeCertificates, interNode }: Pick<ClusterManager, 'nodeCertificates' | 'interNode'>,
  dist: Pick<DistPorts, 'serveNodes'>,
): { stop(): void } {
  const follow = (): void => {
    const own = nodeCertificates.ownCredentials();
    if (own !== null)
      dist.serveNodes(own, (socket, nodeId, protocol) => interNode.accept(socket, nodeId, protocol));
  };
  const changes = nodeCertificates.onChange(follow);
  follow();
  return changes;
}

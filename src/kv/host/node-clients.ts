// Connections of the query and index services of other nodes. The certificate of the connection proves which node it is. The account has no
// password, so that no other client can use it.
import type { Socket } from 'node:net';
import { fullGrants } from '#auth/grants.ts';
import type { PeerSpec, UserSpec } from '../admin.ts';
import type { Connection, ConnectionHost } from '../connection/connection.ts';
import { readEvents } from '../listener/socket-transport.host.ts';
import type { LinkHost } from '../replication/link.ts';

/** The account of other nodes' services: no client can log in with it, and users cannot have such a name. */
export const nodeAccount: UserSpec = {
  name: '@divan-nodes',
  credentialId: 'node certificate',
  scram: null,
  grants: fullGrants(),
};

export class NodeClients {
  private readonly open = new Map<Connection, string>();
  private nodes: ReadonlySet<string> = new Set();

  constructor(
    links: Pick<LinkHost<never>, 'acceptedClient'>,
    clients: { connectNode(host: ConnectionHost, socket: Socket): Connection },
    host: () => ConnectionHost,
  ) {
    const connect = (socket: Socket) => clients.connectNode(host(), socket);
    links.acceptedClient = (socket, node) => {
      if (!this.nodes.has(node)) return void socket.destroy();
      const connection = readEvents(socket, { connect }, null);
      this.open.set(connection, node);
      socket.once('close', () => this.open.delete(connection));
    };
  }

  /** Nodes that left the cluster lose their connections. */
  follow(peers: readonly PeerSpec[]): void {
    this.nodes = new Set(peers.map(({ node }) => node));
    for (const [connection, node] of this.open) if (!this.nodes.has(node)) connection.destroy();
  }
}

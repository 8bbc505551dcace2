// Connects to another node of the cluster: both sides show a certificate of the cluster's authority, which names the node.
import { connect, type TLSSocket } from 'node:tls';
import { nodeIdIn, nodeServerName } from '#base/node-uri.ts';
import type { NodeAddress } from '../node-address.ts';
import type { Channel } from './channel.ts';
import { TlsChannel } from './tls-channel.adapter.ts';

/** What a connection between nodes is for: the founder's configuration, or requests to the manager of another node. */
export const nodeProtocols = { store: 'divan-store/1', manager: 'divan-manager/1' } as const;

export type NodeProtocol = (typeof nodeProtocols)[keyof typeof nodeProtocols];

/** Certificates and the key, as PEM. */
export interface NodeCredentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const connectTimeoutMs = 3_000;

/** `localAddress`: the address to connect from, if the other node admits only that. */
export function connectToNode(
  { nodeId, host, port }: NodeAddress,
  credentials: NodeCredentials,
  protocol: NodeProtocol,
  localAddress?: string,
): Promise<Channel> {
  const { promise, resolve, reject } = Promise.withResolvers<Channel>();
  const socket = connect({
    host,
    port,
    ...credentials,
    servername: nodeServerName,
    ...(localAddress !== undefined && { localAddress }),
    minVersion: 'TLSv1.3',
    rejectUnauthorized: true,
    ALPNProtocols: [protocol],
    checkServerIdentity: (_, { subjectaltname }) =>
      nodeIdIn(subjectaltname) === nodeId ? undefined : new Error(`another node answers at ${host}:${port}`),
  });
  const fail = (error: Error): void => {
    socket.destroy();
    reject(error);
  };
  socket.setTimeout(connectTimeoutMs, () => fail(new Error(`${host}:${port} does not answer`)));
  socket.once('error', fail);
  socket.once('close', () => reject(new Error(`${host}:${port} closed the connection`)));
  socket.once('secureConnect', () => {
    socket.setTimeout(0);
    if (socket.alpnProtocol === protocol) resolve(new TlsChannel(socket));
    else fail(new Error(`${host}:${port} is no port between nodes of this version of Divan`));
  });
  return promise;
}

/** The node at the other end, by its certificate; null for a client without one of the cluster's authority. */
export const peerOf = (socket: TLSSocket): string | null =>
  socket.authorized ? nodeIdIn(socket.getPeerCertificate().subjectaltname) : null;

// This node's part in the connections between nodes: its certificate, requests to and from other managers, and on the founder the
// configuration store that it serves. A node that is alone has none of it until it adds another.
import type { TLSSocket } from 'node:tls';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { NodeAddress } from '#replog/node-address.ts';
import type { Channel } from '#replog/served/channel.ts';
import {
  type NodeCredentials,
  type NodeProtocol,
  nodeProtocols,
} from '#replog/served/node-connect.adapter.ts';
import { StoreServer } from '#replog/served/store-server.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { loopbackOf } from '../config/node-network.ts';
import type { NodeCertificates } from './node-certificates.ts';
import { Peers } from './peers.ts';

/** Connections to and from other nodes. */
export interface NodeNet {
  connect(address: NodeAddress, credentials: NodeCredentials, protocol: NodeProtocol): Promise<Channel>;
  /** The messages of an accepted connection. */
  channelOf(socket: TLSSocket): Channel;
}

export interface InterNodeDeps {
  view: ClusterView;
  store: ConfigStore;
  identity: NodeIdentity;
  certificates: NodeCertificates;
  net: NodeNet;
  /** This node stores the configuration of its cluster. */
  isFounder: () => boolean;
  clock: Clock;
  log: Log;
}

/** Where other nodes reach the port between nodes. A node without a name is on the same machine. */
export const nodeAddressOf = (node: NodeState): NodeAddress => ({
  nodeId: node.uuid,
  host: node.hostname ?? loopbackOf(node),
  port: node.ports.distTLS,
});

/**
 * The request by which a founder that was lost, or a node that cannot reach the configuration, asks another node where the configuration is. The
 * answer names a place only if its epoch is later than the one that the asking node knows. A node that the cluster removed may ask too. The
 * name dates from a version in which a founder was the only place, and nodes of different versions exchange it.
 */
export const laterPlaceRequest = 'founder/term';

/** Connections of a node that left stay open for this time, so that it receives the information that it was removed. */
const closeDelayMs = 1_000;

export class InterNode {
  readonly peers: Peers;
  readonly #deps: InterNodeDeps;
  #server: Promise<StoreServer> | null = null;
  readonly #channels = new Map<Channel, string>();
  readonly #leaving = new WeakSet<Channel>();
  #watch: { stop(): void } | null = null;

  constructor(deps: InterNodeDeps) {
    this.#deps = deps;
    this.peers = new Peers({ ...deps, connect: (nodeId) => this.#connect(nodeId) });
  }

  /** Call once the configuration has been read. */
  start(): void {
    this.#watch = this.#deps.view.onChange(() => this.#closeLeaving());
  }

  async stop(): Promise<void> {
    this.#watch?.stop();
    this.peers.stop();
    for (const channel of this.#channels.keys()) channel.close();
    (await this.#server)?.stop();
  }

  /** Serves a connection whose certificate names this node. */
  accept(socket: TLSSocket, nodeId: string, protocol: NodeProtocol): void {
    const channel = this.#deps.net.channelOf(socket);
    this.#channels.set(channel, nodeId);
    socket.once('close', () => this.#channels.delete(channel));
    if (protocol === nodeProtocols.store)
      this.#serveStore(channel, nodeId).catch(({ message: reason }: Error) => {
        this.#deps.log.warn('nodes.store_not_served', { node: nodeId, reason });
        channel.close();
      });
    else if (this.#isMember(nodeId)) this.peers.serve(channel, nodeId);
    else if (this.#hasLeft(nodeId)) this.peers.serve(channel, nodeId, laterPlaceRequest);
    else channel.close();
  }

  async #serveStore(channel: Channel, nodeId: string): Promise<void> {
    const { isFounder } = this.#deps;
    if (!isFounder()) {
      channel.close();
      return;
    }
    const server = await this.#storeServer();
    if (this.#isMember(nodeId)) server.serve(channel);
    else if (this.#hasLeft(nodeId)) server.refuse(channel, 'removed');
    else server.refuse(channel, 'unknown');
  }

  /** Call once another node stores the configuration: members connect to that node. */
  async stopServing(): Promise<void> {
    const server = await this.#server;
    this.#server = null;
    server?.stop();
  }

  #storeServer(): Promise<StoreServer> {
    this.#server ??= this.#startServer().catch((error: unknown) => {
      // The next connection tries again.
      this.#server = null;
      throw error;
    });
    return this.#server;
  }

  async #startServer(): Promise<StoreServer> {
    const { store, view, identity } = this.#deps;
    const term = { epoch: view.revisionEpoch, founder: identity.nodeId };
    const server = new StoreServer({ store, identity: view.cluster.uuid, term, bootId: identity.bootId });
    await server.start();
    return server;
  }

  #isMember(nodeId: string): boolean {
    return this.#deps.view.cluster.nodes.some(({ uuid }) => uuid === nodeId);
  }

  #hasLeft(nodeId: string): boolean {
    return (this.#deps.view.cluster.left ?? []).includes(nodeId);
  }

  /** Closes the connections to and from nodes that left the cluster. */
  #closeLeaving(): void {
    this.peers.discardExcept((nodeId) => this.#isMember(nodeId));
    for (const [channel, nodeId] of this.#channels) {
      if (this.#isMember(nodeId) || this.#leaving.has(channel)) continue;
      this.#leaving.add(channel);
      this.#deps.clock.after(closeDelayMs, () => channel.close());
    }
  }

  async #connect(nodeId: string): Promise<Channel> {
    const { view, certificates, net } = this.#deps;
    const node = view.cluster.nodes.find(({ uuid }) => uuid === nodeId);
    const credentials = certificates.ownCredentials();
    if (node === undefined || credentials === null)
      throw new Error(`node ${nodeId} is not in this cluster, or this node has no certificate for it`);
    return net.connect(nodeAddressOf(node), credentials, nodeProtocols.manager);
  }
}

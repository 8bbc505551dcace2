// A connection to another node whose certificate proved its id: frames in order, each whole or not at all.
import type { TLSSocket } from 'node:tls';

export interface Link {
  /** Id of the node at the other end. */
  readonly node: string;
  /** Bytes that the other end has not taken. */
  readonly unsentBytes: number;
  send(frame: Buffer): void;
  /** Called once. `closed` is called once, after the last frame. */
  receive(handler: { frame(frame: Buffer): void; closed(reason: string): void }): void;
  close(reason: string): void;
}

/** Where other nodes are reached. */
export interface LinkAddress {
  readonly node: string;
  readonly host: string;
  readonly port: number;
}

/** Connections between nodes: real ones over TLS, or those of a simulation. */
export interface LinkHost<Tls> {
  /** Listens; returns the port. */
  listen(host: string, port: number): Promise<number>;
  /** The certificate for both directions, from the next connection on. */
  useTls(tls: Tls): void;
  connect(address: LinkAddress): Promise<Link>;
  /** Set before `listen`. */
  accepted: (link: Link) => void;
  /** A service of another node that requests documents connected. Absent: there are none. Set before `listen`. */
  acceptedClient?: (socket: TLSSocket, node: string) => void;
  close(): Promise<void>;
}

// A connection to another node whose certificate proved its id. What is sent arrives in order, in pieces of any size.
import type { TLSSocket } from 'node:tls';

export interface LinkHandler {
  /** The bytes are valid during the call. */
  data(bytes: Buffer): void;
  closed(reason: string): void;
}

export interface Link {
  /** Id of the node at the other end. */
  readonly node: string;
  /** Bytes that the other end has not taken. */
  readonly unsentBytes: number;
  /** The bytes must not change before `sent` is called, which may be never if the connection ends. */
  send(bytes: Uint8Array, sent: () => void): void;
  /** To be called once. The handler's `closed` is called once, after the last bytes. */
  receive(handler: LinkHandler): void;
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
  /** Called when a service of another node has connected to read documents. Absent: no service connects. Set before `listen`. */
  acceptedClient?: (socket: TLSSocket, node: string) => void;
  close(): Promise<void>;
}

// Where a data port is, and how to log in there.

export interface WireAddress {
  host: string;
  port: number;
  /** The local address to connect from. */
  localAddress?: string | undefined;
  /** A connection with requests in flight is closed after this time without input. */
  timeoutMs: number;
  /** Time to connect; omitted: `timeoutMs`. */
  connectTimeoutMs?: number;
  /** A data port with TLS of a server outside of this cluster. */
  tls?: ServerTls | undefined;
  /** Another node of the cluster, at its port for replication: certificates of both sides take the place of an account. */
  node?: NodeIdentification;
}

export interface NodeIdentification {
  /** The id that its certificate must name. */
  readonly id: string;
  readonly tls: InterNodeTls;
}

/** PEM: the server's certificate must be issued by one of these authorities; absent: by one that the machine trusts. */
export interface ServerTls {
  readonly authority?: string;
  /** The certificate takes the place of the account. */
  readonly clientCertificate?: ClientCertificate | undefined;
}

/** PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** PEM: this node's certificate for other nodes, its key, and the authority of the cluster's nodes. */
export interface InterNodeTls {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
}

export interface WireAccount {
  username: string;
  password: string;
  /** Log in without sending the password: for servers of another cluster without TLS. */
  scram?: boolean;
}

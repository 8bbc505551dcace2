// Request and response of the certificate process.

export interface KeyedCertificate {
  /** PEM; for a node, followed by its authority's. */
  certificate: string;
  /** PKCS 8, PEM. */
  key: string;
}

export interface AlternativeName {
  kind: 'dns' | 'ip' | 'url';
  name: string;
}

export interface IssueRequest {
  /** The authority that signs; null: generate one. */
  authority: KeyedCertificate | null;
  /** Eight hex digits that distinguish a new authority from others. */
  suffix: string;
  /** Serial numbers, as hex, of the authority, of the node's certificate and of its certificate with an RSA key. */
  serials: [string, string, string];
  names: AlternativeName[];
  /** Whether the node also gets a certificate with an RSA key. */
  withRsa: boolean;
}

export interface Issued {
  authority: KeyedCertificate;
  node: KeyedCertificate;
  rsa: KeyedCertificate | null;
}

export type Issue = (request: IssueRequest) => Promise<Issued>;

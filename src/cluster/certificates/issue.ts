// What is asked of the maker of certificates, and what it answers.

export interface KeyedCertificate {
  /** PEM; of a node with its authority's behind it. */
  certificate: string;
  /** PKCS 8, PEM. */
  key: string;
}

export interface AlternativeName {
  kind: 'dns' | 'ip';
  name: string;
}

export interface IssueRequest {
  /** The authority that signs; null: make one. */
  authority: KeyedCertificate | null;
  /** Eight hex digits that tell a new authority from others. */
  suffix: string;
  /** Of the authority, of the node and of its certificate with an RSA key, as hex. */
  serials: [string, string, string];
  names: AlternativeName[];
  /** Whether the node gets a certificate with an RSA key besides. */
  withRsa: boolean;
}

export interface Issued {
  authority: KeyedCertificate;
  node: KeyedCertificate;
  rsa: KeyedCertificate | null;
}

export type Issue = (request: IssueRequest) => Promise<Issued>;

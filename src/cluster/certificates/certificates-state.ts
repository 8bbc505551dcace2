// Key `certificates` of the configuration: the authorities that the cluster trusts and the certificate of each node. One
// key, because an authority may be removed only while no node uses it, and because a certificate is useless without its private key.

export const certificatesKey = 'certificates';

export interface CertificatesState {
  nextId: number;
  /** In the order of their addition; REST shows the last one as the cluster's root certificate. */
  authorities: StoredAuthority[];
  /** By node uuid. */
  nodes: Record<string, StoredNodeCertificate>;
}

export interface StoredAuthority {
  id: number;
  /** Generated here, uploaded through the REST API, or loaded from the inbox folder. */
  origin: 'generated' | 'upload' | 'inbox';
  pem: string;
  loadedMs: number;
  /** The private key, encrypted; null if the authority was not generated here. */
  key: string | null;
  /** Source file of an authority of the inbox. */
  host?: string;
  file?: string;
}

export interface StoredNodeCertificate {
  origin: 'generated' | 'inbox';
  /** The node's certificate, then those of intermediate authorities. */
  chain: string;
  /** The private key, encrypted. */
  key: string;
  /** For a generated certificate: a second one with an RSA key (encrypted), once chosen cipher suites need it. */
  rsa?: { chain: string; key: string };
  /** The authority at the end of the chain. */
  authorityId: number;
  /** The names in a generated certificate, one per line; empty for a certificate of the inbox. */
  names: string;
  /** The source of the key's passphrase, without its secrets. */
  passphrase: Readonly<Record<string, unknown>>;
}

export const noCertificates: CertificatesState = { nextId: 0, authorities: [], nodes: {} };

/** The authority that signs generated certificates of nodes: the newest one whose private key the cluster has. */
export const signerOf = (state: CertificatesState): StoredAuthority | undefined =>
  state.authorities.findLast((authority) => authority.key !== null);

export const withAuthority = (
  state: CertificatesState,
  authority: Omit<StoredAuthority, 'id'>,
): CertificatesState => ({
  ...state,
  nextId: state.nextId + 1,
  authorities: [...state.authorities, { ...authority, id: state.nextId }],
});

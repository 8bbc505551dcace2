// Key `certificates` of the configuration: the authorities that the cluster trusts and the certificate of each node. They are
// one key because an authority may go only when no node uses it, and because a node's certificate without its key is nothing.

export const certificatesKey = 'certificates';

export interface CertificatesState {
  nextId: number;
  /** In the order they came; the last one is the cluster's root. */
  authorities: StoredAuthority[];
  /** By node uuid. */
  nodes: Record<string, StoredNodeCertificate>;
}

export interface StoredAuthority {
  id: number;
  /** Made here, uploaded by the call that takes one, or loaded from the inbox folder. */
  origin: 'generated' | 'upload' | 'inbox';
  pem: string;
  loadedMs: number;
  /** Of a generated one, which signs: sealed. */
  key: string | null;
  /** Where an authority of the inbox came from. */
  host?: string;
  file?: string;
}

export interface StoredNodeCertificate {
  origin: 'generated' | 'inbox';
  /** The node's, then those of intermediate authorities. */
  chain: string;
  /** Sealed. */
  key: string;
  /** Of a generated one, once suites want it: a certificate with an RSA key besides, its key sealed. */
  rsa?: { chain: string; key: string };
  /** The authority that the chain leads to. */
  authorityId: number;
  /** Of a generated one: the names that it was made for. */
  names: string;
  /** How the passphrase of the key was given, without the secrets in it. */
  passphrase: Readonly<Record<string, unknown>>;
}

export const noCertificates: CertificatesState = { nextId: 0, authorities: [], nodes: {} };

/** The newest authority that signs the nodes' own certificates. */
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

// Read access to certificates: the root, trusted authorities, the nodes' own, and warnings.
import { X509Certificate } from 'node:crypto';
import type { Clock } from '#ports/clock.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { certificateRefusals } from '../refusals/certificates.refusals.ts';
import { notAfterMs, notBeforeMs, readCertificates, subjectOf } from './certificate-text.ts';
import type { CertificatesStore } from './certificates.store.ts';
import type { StoredAuthority } from './certificates-state.ts';
import { authorityWarnings, nodeWarnings, shownWarning, type Warning } from './warnings.ts';

export interface CertificateReportDeps {
  view: ClusterView;
  store: CertificatesStore;
  clock: Clock;
}

/** The node's address as the client knows it. */
export type AddressOf = (node: NodeState) => string;

const timeOf = (ms: number): string => new Date(ms).toISOString();
const typeOf = ({ origin }: StoredAuthority) => (origin === 'generated' ? 'generated' : 'uploaded');

export class CertificateReport {
  readonly #deps: CertificateReportDeps;

  constructor(deps: CertificateReportDeps) {
    this.#deps = deps;
  }

  /** The one root of the cluster. Refused if several were uploaded, or one was loaded from an inbox: there may be no single root then. */
  root(): StoredAuthority {
    const { authorities } = this.#deps.store.state;
    const provided = authorities.filter(({ origin }) => origin !== 'generated');
    if (provided.length > 1 || provided.some(({ origin }) => origin === 'inbox'))
      throw certificateRefusals.severalRoots();
    return this.#newest();
  }

  /**
   * An authority as `?extended=true` shows the root, with the warnings about all certificates. The fields of the authority are at the top
   * level and under `cert`, since published clients look in either place.
   */
  extendedRoot(authority: StoredAuthority, addressOf: AddressOf) {
    const certificate = new X509Certificate(authority.pem);
    const cert = {
      type: typeOf(authority),
      pem: authority.pem,
      subject: subjectOf(certificate),
      expires: timeOf(notAfterMs(certificate)),
    };
    return { ...cert, cert, warnings: this.#allWarnings(addressOf) };
  }

  /** `details` null: only what clients without permissions may see. */
  trusted(details: { addressOf: AddressOf } | null) {
    return this.#deps.store.state.authorities.map((authority) => this.authority(authority, details));
  }

  authority(authority: StoredAuthority, details: { addressOf: AddressOf } | null) {
    const { store, view, clock } = this.#deps;
    const certificate = new X509Certificate(authority.pem);
    const signedNodes = view.cluster.nodes.filter(
      ({ uuid }) => store.state.nodes[uuid]?.authorityId === authority.id,
    );
    const { id, pem, host, file } = authority;
    const warnings = authorityWarnings(store.state, authority, certificate, clock.wallMs());
    return {
      id,
      subject: subjectOf(certificate),
      notBefore: timeOf(notBeforeMs(certificate)),
      notAfter: timeOf(notAfterMs(certificate)),
      pem,
      ...(details && {
        type: typeOf(authority),
        loadTimestamp: timeOf(authority.loadedMs),
        ...(host !== undefined && { loadHost: host }),
        ...(file !== undefined && { loadFile: file }),
        warnings: warnings.map(shownWarning),
        nodes: signedNodes.map(details.addressOf),
      }),
    };
  }

  nodes(addressOf: AddressOf) {
    return this.#deps.view.cluster.nodes.flatMap((node) => {
      const reported = this.node(node);
      return reported ? [{ node: addressOf(node), ...reported }] : [];
    });
  }

  node(node: NodeState) {
    const { store, clock } = this.#deps;
    const stored = store.state.nodes[node.uuid];
    if (!stored) return null;
    const chain = chainOf(stored.chain);
    const root = new X509Certificate(this.#newest().pem);
    const warnings = nodeWarnings(store.state, { node: stored, chain }, root, clock.wallMs());
    return {
      warnings: warnings.map(shownWarning),
      subject: chain[0] ? subjectOf(chain[0]) : '',
      // A chain that cannot be read, from a damaged store for example, has no date of expiry.
      ...(chain.length > 0 && { expires: timeOf(Math.min(...chain.map(notAfterMs))) }),
      type: stored.origin === 'generated' ? 'generated' : 'uploaded',
      pem: stored.chain,
      privateKeyPassphrase: stored.passphrase,
    };
  }

  /** A sentence about each certificate that has expired or expires soon, which names the certificate. */
  expiring(): string[] {
    const { store, view, clock } = this.#deps;
    const authorities = store.state.authorities.map((authority) => {
      const certificate = new X509Certificate(authority.pem);
      const warnings = authorityWarnings(store.state, authority, certificate, clock.wallMs());
      return { name: `Root certificate ${authority.id} (${subjectOf(certificate)})`, warnings };
    });
    const nodes = view.cluster.nodes.flatMap((node) => {
      const stored = store.state.nodes[node.uuid];
      if (!stored) return [];
      const chain = chainOf(stored.chain);
      const warnings = nodeWarnings(store.state, { node: stored, chain }, null, clock.wallMs());
      return [{ name: `Certificate of node ${node.otpNode}`, warnings }];
    });
    return [...authorities, ...nodes].flatMap(({ name, warnings }) => expirySentences(name, warnings));
  }

  #newest(): StoredAuthority {
    const newest = this.#deps.store.state.authorities.at(-1);
    if (!newest) throw certificateRefusals.noRoot();
    return newest;
  }

  #allWarnings(addressOf: AddressOf) {
    const authorities = this.trusted({ addressOf }).flatMap(({ id, warnings = [] }) =>
      warnings.map((warning) => ({ ca: id, ...warning })),
    );
    const nodes = this.nodes(addressOf).flatMap(({ node, warnings }) =>
      warnings.map((warning) => ({ node, ...warning })),
    );
    return [...nodes, ...authorities];
  }
}

function expirySentences(name: string, warnings: readonly Warning[]): string[] {
  return warnings.flatMap((warning) => {
    if (warning.name === 'expired') return [`${name} has expired.`];
    if (warning.name !== 'expires_soon') return [];
    return [`${name} will expire at ${timeOf(warning.expiresMs ?? 0)}.`];
  });
}

function chainOf(pem: string): X509Certificate[] {
  const read = readCertificates(pem);
  return 'value' in read ? read.value : [];
}

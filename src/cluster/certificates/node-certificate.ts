// The certificate that an operator provides for this node: read from the inbox, validated as a chain to a trusted
// authority and against its key, and used at once.
import { type KeyObject, X509Certificate } from 'node:crypto';
import type { AppError } from '#contract/errors.ts';
import type { Clock } from '#ports/clock.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { certificateRefusals } from '../refusals/certificates.refusals.ts';
import {
  isIssuedBy,
  isValidAt,
  keyText,
  type ParsedText,
  pemOf,
  readCertificates,
  readKey,
  subjectOf,
} from './certificate-text.ts';
import type { CertificatesStore } from './certificates.store.ts';
import type { CertificatesState } from './certificates-state.ts';
import type { Inbox, InboxFile } from './inbox.ts';
import type { Passphrase } from './passphrase.ts';

export interface NodeCertificateDeps {
  view: ClusterView;
  store: CertificatesStore;
  inbox: Inbox;
  clock: Clock;
  /** The reason why no chosen cipher suite works with a key of this kind; null if one does. */
  suitesProblem: (keyKind: string) => string | null;
}

export class NodeCertificate {
  readonly #deps: NodeCertificateDeps;

  constructor(deps: NodeCertificateDeps) {
    this.#deps = deps;
  }

  /** Activates the chain and key of the inbox, or refuses and changes nothing. */
  async reload(passphrase: Passphrase): Promise<void> {
    const { inbox, store, view } = this.#deps;
    const chainPem = textOf('certificate chain', await inbox.chain());
    const keyPem = textOf('private key', await inbox.key());
    const chain = valueOrRefuse(readCertificates(chainPem), certificateRefusals.malformedChain);
    const key = valueOrRefuse(readKey(keyPem, await passphrase.text()), certificateRefusals.malformedKey);
    this.#validate(chain, key);
    await store.change((state) => ({
      ...state,
      nodes: {
        ...state.nodes,
        [view.self.uuid]: {
          origin: 'inbox',
          chain: pemOf(chain),
          key: store.seal(keyText(key)),
          authorityId: authorityOf(state, chain),
          names: '',
          passphrase: passphrase.publicSource,
        },
      },
    }));
  }

  #validate(chain: readonly X509Certificate[], key: KeyObject): void {
    const nowMs = this.#deps.clock.wallMs();
    chain.forEach((certificate, index) => {
      const subject = JSON.stringify(subjectOf(certificate));
      const next = chain[index + 1];
      if (next && !isIssuedBy(certificate, next)) {
        const issuer = JSON.stringify(subjectOf(next));
        throw certificateRefusals.wrongOrder({ subject, issuer });
      }
      if (!isValidAt(certificate, nowMs)) throw certificateRefusals.expired({ subject });
    });
    authorityOf(this.#deps.store.state, chain);
    if (!chain[0]?.checkPrivateKey(key)) throw certificateRefusals.keyOfOther();
    const suitesProblem = this.#deps.suitesProblem(key.asymmetricKeyType ?? '');
    if (suitesProblem !== null) throw certificateRefusals.unfitKey({ problem: suitesProblem });
  }
}

/** The trusted authority of a chain; the chain may include it. */
function authorityOf(state: CertificatesState, chain: readonly X509Certificate[]): number {
  const last = chain.at(-1);
  const authority = state.authorities.findLast(({ pem }) => {
    const trusted = new X509Certificate(pem);
    return last !== undefined && (last.raw.equals(trusted.raw) || isIssuedBy(last, trusted));
  });
  if (!authority) {
    throw certificateRefusals.untrusted();
  }
  return authority.id;
}

function textOf(what: string, { path, text, problem }: InboxFile): string {
  if (text === null) throw certificateRefusals.unreadableFile({ what, path, problem });
  return text;
}

function valueOrRefuse<T>(read: ParsedText<T>, refusal: (parameters: { problem: string }) => AppError): T {
  if ('problem' in read) throw refusal({ problem: read.problem });
  return read.value;
}

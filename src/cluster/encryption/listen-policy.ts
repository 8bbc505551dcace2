// Which of the node's ports listen on which addresses: plain ones on all or on loopback only, those between nodes
// as their listeners are configured. The owner of the listeners applies it.
import type { ClusterView } from '../config/cluster-view.ts';
import { networkOf } from '../config/node-network.ts';
import type { ChangeNotifier } from '../config/until.ts';
import type { EncryptionLevel } from '../security/security-state.ts';

export interface ListenPolicyDeps {
  view: ClusterView;
  /** The encryption level is null while traffic between nodes is not encrypted. */
  security: ChangeNotifier & { readonly encryptionLevel: EncryptionLevel | null };
  /** The nodes of a cluster connect to each other with TLS, at every encryption level. */
  nodeCertificates: ChangeNotifier & { ownCredentials(): unknown };
}

export class ListenPolicy implements ChangeNotifier {
  readonly #deps: ListenPolicyDeps;

  constructor(deps: ListenPolicyDeps) {
    this.#deps = deps;
  }

  /** True if clients of other machines must use TLS. */
  get isPlainForThisMachineOnly(): boolean {
    return this.#deps.security.encryptionLevel === 'strict';
  }

  get betweenNodes(): { plain: boolean; tls: boolean } {
    const { listeners } = networkOf(this.#deps.view.self);
    return {
      plain: !this.isPlainForThisMachineOnly && listeners.some((listener) => !listener.nodeEncryption),
      tls:
        listeners.some((listener) => listener.nodeEncryption) ||
        this.#deps.nodeCertificates.ownCredentials() !== null,
    };
  }

  onChange(listener: () => void): { stop(): void } {
    const { view, security, nodeCertificates } = this.#deps;
    const following = [view, security, nodeCertificates].map((source) => source.onChange(listener));
    return {
      stop() {
        for (const subscription of following) subscription.stop();
      },
    };
  }
}

// The certificates with which the nodes of a cluster recognize each other: an authority of their own, made when the first node is added,
// and one certificate for each node, which names it by its id. Clients never see them.
import type { SecretBox } from '#auth/secret-box.ts';
import { nodeServerName, nodeUri } from '#base/node-uri.ts';
import type { Random } from '#ports/random.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';
import type { NodeCredentials } from '#replog/served/node-connect.adapter.ts';
import type { IssueCertificates, KeyedCertificate } from '../certificates/issue.ts';
import { type ClusterState, clusterKey } from '../config/cluster-state.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { WatchedKeys } from '../config/watched-keys.ts';

const key = 'nodeCertificates';
const sealPurpose = 'key of a node certificate';
/** The certificates that are kept of nodes that are not in the cluster, the newest: a node gets its certificate before its entry. */
const othersKept = 20;

/** Private keys are encrypted under the cluster's key. */
interface StoredNodeCertificates {
  authority: KeyedCertificate;
  /** By node id. */
  nodes: Record<string, KeyedCertificate>;
}

export interface NodeCertificatesDeps {
  store: ConfigStore;
  secrets: SecretBox;
  identity: NodeIdentity;
  issue: IssueCertificates;
  random: Random;
}

export class NodeCertificates {
  readonly #deps: NodeCertificatesDeps;
  readonly #keys: WatchedKeys;
  #state: StoredNodeCertificates | null = null;
  #own: { stored: KeyedCertificate; credentials: NodeCredentials } | null = null;

  constructor(deps: NodeCertificatesDeps) {
    this.#deps = deps;
    this.#keys = new WatchedKeys(deps.store, key, (_, entry) => {
      this.#state = (entry?.value as StoredNodeCertificates | undefined) ?? null;
    });
  }

  start(): Promise<void> {
    return this.#keys.start();
  }

  stop(): void {
    this.#keys.stop();
  }

  onChange(listener: () => void): { stop(): void } {
    return this.#keys.onChange(listener);
  }

  /** Null while this node is alone in its cluster and never added another. */
  ownCredentials(): NodeCredentials | null {
    const stored = this.#state?.nodes[this.#deps.identity.nodeId];
    if (this.#state === null || stored === undefined) return null;
    if (this.#own?.stored.certificate !== stored.certificate)
      this.#own = { stored, credentials: this.#credentials(this.#state, stored) };
    return this.#own.credentials;
  }

  /** Makes the authority and this node's certificate if they are missing. */
  async prepare(): Promise<void> {
    const { store, identity } = this.#deps;
    const present = (await store.get<StoredNodeCertificates>(key))?.value ?? null;
    if (present?.nodes[identity.nodeId] !== undefined) return;
    await this.#add(identity.nodeId, present);
  }

  /** Makes and stores a certificate for another node. Call after `prepare`. */
  async issueFor(nodeId: string): Promise<NodeCredentials> {
    const present = (await this.#deps.store.get<StoredNodeCertificates>(key))?.value ?? null;
    const state = await this.#add(nodeId, present);
    return this.#credentials(state, state.nodes[nodeId] as KeyedCertificate);
  }

  async #add(nodeId: string, present: StoredNodeCertificates | null): Promise<StoredNodeCertificates> {
    const { store, secrets, issue, random } = this.#deps;
    const serial = (): string => `4${random.bytes(16).toString('hex').slice(1)}`;
    const authority = present?.authority;
    const issued = await issue({
      authority: authority ? { ...authority, key: secrets.open(sealPurpose, authority.key) } : null,
      suffix: `nodes ${random.bytes(4).toString('hex')}`,
      serials: [serial(), serial(), serial()],
      withRsa: false,
      names: [
        { kind: 'dns', name: nodeServerName },
        { kind: 'url', name: nodeUri(nodeId) },
      ],
    });
    const sealed = ({ certificate, key: secret }: KeyedCertificate): KeyedCertificate => ({
      certificate,
      key: secrets.seal(sealPurpose, secret),
    });
    const members = ((await store.get<ClusterState>(clusterKey))?.value.nodes ?? []).map(({ uuid }) => uuid);
    const first: StoredNodeCertificates = { authority: sealed(issued.authority), nodes: {} };
    const { value } = await update<StoredNodeCertificates>(store, key, first, (state) =>
      state.authority.certificate === issued.authority.certificate
        ? { ...state, nodes: withCertificate(state.nodes, nodeId, sealed(issued.node), members) }
        : state,
    );
    // Missing: a concurrent call made the authority first.
    return value.nodes[nodeId] === undefined ? this.#add(nodeId, value) : value;
  }

  #credentials(state: StoredNodeCertificates, stored: KeyedCertificate): NodeCredentials {
    const secret = this.#deps.secrets.open(sealPurpose, stored.key);
    return { ca: state.authority.certificate, cert: stored.certificate, key: secret };
  }
}

/** The certificates with that of one more node, in the order in which they were added, and without those of nodes that left long ago. */
function withCertificate(
  before: StoredNodeCertificates['nodes'],
  nodeId: string,
  certificate: KeyedCertificate,
  members: readonly string[],
): StoredNodeCertificates['nodes'] {
  const { [nodeId]: _, ...rest } = before;
  const all = { ...rest, [nodeId]: certificate };
  const others = Object.keys(all).filter((id) => !members.includes(id));
  const dropped = new Set(others.slice(0, -othersKept));
  return Object.fromEntries(Object.entries(all).filter(([id]) => !dropped.has(id)));
}

// At the first start generates the authority of the cluster and the certificate of this node; generates the latter again when the names
// of the node change. trusted-authorities.ts and node-certificate.ts handle certificates that an operator provides.
import { X509Certificate } from 'node:crypto';
import { assert } from '#base/assert.ts';
import type { ClientCertificates } from '#ports/client-certificate.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { ChangeNotifier } from '../config/until.ts';
import type { WatchedSetting } from '../config/watched-setting.ts';
import type { CertificatesStore } from './certificates.store.ts';
import {
  type CertificatesState,
  type StoredAuthority,
  signerOf,
  withAuthority,
} from './certificates-state.ts';
import { type ClientAuth, clientCertificates } from './client-auth.ts';
import type { AlternativeName, IssueCertificates, IssuedCertificates, KeyedCertificate } from './issue.ts';

/** The certificates in the files of an older version; null: there is no such file. */
export interface StoredCertificates {
  authority: KeyedCertificate | null;
  node: KeyedCertificate | null;
  /** The names that the node's certificate was generated for, as this service wrote them. */
  names: string;
}

/** Certificates in files of the data folder, as older versions kept them. */
export interface CertificateFiles {
  load(): Promise<StoredCertificates>;
  remove(): Promise<void>;
}

export interface NodeTls {
  certificate: string;
  key: string;
  /** A second certificate with an RSA key. */
  other?: KeyedCertificate;
  minVersion: 'TLSv1.2';
  honorCipherOrder: boolean;
  clients?: ClientCertificates;
}

export interface ChosenSuites extends ChangeNotifier {
  /** Whether one of the suites needs an RSA key. */
  readonly needsRsa: boolean;
}

export interface CertificatesDeps {
  view: ClusterView;
  store: CertificatesStore;
  files: CertificateFiles;
  issue: IssueCertificates;
  random: Random;
  clock: Clock;
  log: Log;
  /** Whether listeners request client certificates. */
  clientAuth: WatchedSetting<ClientAuth>;
  /** The cipher suites that the cluster has chosen. */
  suites: () => ChosenSuites;
  /** Names and addresses of the node besides its configured name: those it listens on, and this machine's name. */
  ownNames: readonly string[];
}

export interface Regeneration {
  /** Generate a new authority too. */
  authority: boolean;
  /** Replace a certificate that an operator loaded. */
  loaded: boolean;
}

/** How long the certificate of a node that left is kept: longer than the node needs to see that it was removed, and to stop. */
const departedKeptMs = 60_000;

const alwaysNamed = ['localhost', '127.0.0.1', '::1'];

export class CertificatesService implements ChangeNotifier {
  readonly #deps: CertificatesDeps;
  readonly #listeners = new Set<() => void>();
  #following: readonly { stop(): void }[] = [];
  #current: NodeTls | null = null;
  /** The state that `#current` was derived from. */
  #currentSource = '';
  /** Whether a certificate is generated now, or the service has not started. */
  #isBusy = true;
  #started: Promise<void> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();
  /** Set while certificates of nodes that left are to be removed. */
  #removal: Timer | null = null;

  constructor(deps: CertificatesDeps) {
    this.#deps = deps;
  }

  /** Resolves when there is a certificate for the current names; the rest of the node does not wait for it. */
  start(): Promise<void> {
    this.#started = this.#start();
    this.#started.catch(() => {}); // the caller reports it
    return this.#started;
  }

  async #start(): Promise<void> {
    const { store, view, clientAuth, suites } = this.#deps;
    await store.start(() => this.#changed());
    this.#following = [clientAuth.onChange(() => this.#changed())];
    if (store.state.authorities.length === 0) await this.#import();
    await this.#renew();
    this.#isBusy = false;
    const renewing = [view, suites()].map((source) => source.onChange(() => this.#renewIfStale()));
    this.#following = [...this.#following, ...renewing, view.onChange(() => this.#removeDepartedLater())];
    this.#removeDepartedLater();
  }

  async stop(): Promise<void> {
    for (const subscription of this.#following) subscription.stop();
    this.#removal?.cancel();
    await this.#running;
    this.#deps.store.stop();
  }

  /** Null before the node has a certificate. */
  current(): NodeTls | null {
    return this.#current;
  }

  /** Key types of the certificates in use: `ec`, `rsa`. */
  keyKinds(): string[] {
    const current = this.#current;
    if (!current) return [];
    return [current.certificate, ...(current.other ? [current.other.certificate] : [])].map(
      (pem) => new X509Certificate(pem).publicKey.asymmetricKeyType ?? '',
    );
  }

  /** Resolves once there is a certificate. */
  get ready(): Promise<void> {
    return this.#started;
  }

  /** PEM of every authority that the cluster trusts. */
  async trusted(): Promise<string[]> {
    await this.#started;
    return this.#deps.store.state.authorities.map(({ pem }) => pem);
  }

  onChange(listener: () => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }

  /** Adds a certificate with an RSA key, unless an operator's certificate is in use: then there is no second one. */
  async addRsaCertificate(): Promise<void> {
    await this.#started;
    const { store, view } = this.#deps;
    const node = store.state.nodes[view.self.uuid];
    if (node?.origin !== 'generated' || node.rsa) return;
    const issued = await this.#issue(this.#signer(store.state), this.#wantedNames(), true);
    await store.change((state) => this.#withIssued(state, issued, false));
  }

  /** Generates a new certificate for this node, makes the other nodes generate theirs, and resolves with the authority that signed it. */
  async regenerate(wanted: Regeneration): Promise<StoredAuthority> {
    const { store } = this.#deps;
    const signer = wanted.authority ? null : this.#signer(store.state);
    const issued = await this.#issue(signer, this.#wantedNames());
    const state = await store.change((before) =>
      this.#withIssued(this.#withoutOthers(before, wanted), issued, wanted.loaded),
    );
    const authority = signerOf(state);
    assert(authority, 'an authority was just made');
    return authority;
  }

  /** Removes the certificates of the other nodes: each node that has none generates one. */
  #withoutOthers(state: CertificatesState, { loaded }: Regeneration): CertificatesState {
    const { uuid: own } = this.#deps.view.self;
    const kept = Object.entries(state.nodes).filter(
      ([uuid, { origin }]) => uuid === own || (origin === 'inbox' && !loaded),
    );
    return { ...state, nodes: Object.fromEntries(kept) };
  }

  /**
   * The state without the certificates of nodes that left: only those that the cluster has recorded as removed, since a node that was just added may
   * not be in this view yet. Nodes that removed each other's certificates would renew them without end.
   */
  #withoutDeparted(state: CertificatesState): CertificatesState {
    const kept = Object.entries(state.nodes).filter(([uuid]) => !this.#hasLeft(uuid));
    return { ...state, nodes: Object.fromEntries(kept) };
  }

  #hasLeft(id: string): boolean {
    const { nodes, left = [] } = this.#deps.view.cluster;
    return left.includes(id) && !nodes.some(({ uuid }) => uuid === id);
  }

  /** Only the first active node does this, and after a pause: a node that has not seen that it was removed would generate another certificate. */
  #removeDepartedLater(): void {
    if (this.#removal !== null || !this.#mustRemoveDeparted()) return;
    this.#removal = this.#deps.clock.after(departedKeptMs, () => {
      this.#removal = null;
      void this.#removeDeparted();
    });
  }

  #mustRemoveDeparted(): boolean {
    const { store, view } = this.#deps;
    const isFirst = view.activeNodes[0]?.uuid === view.self.uuid;
    return isFirst && Object.keys(store.state.nodes).some((id) => this.#hasLeft(id));
  }

  async #removeDeparted(): Promise<void> {
    if (!this.#mustRemoveDeparted()) return;
    try {
      await this.#deps.store.change((state) => this.#withoutDeparted(state));
    } catch (error) {
      this.#deps.log.warn('certificates.departed_kept', { reason: (error as Error).message });
    }
  }

  #changed(): void {
    const { store, view, clientAuth } = this.#deps;
    const node = store.state.nodes[view.self.uuid];
    if (!this.#isBusy) this.#removeDepartedLater();
    // Another node has regenerated the certificates: this node generates a new one, and uses its old one until then.
    if (!node) this.#renewIfStale();
    if (!node) return;
    const clients = clientCertificates(
      clientAuth.value,
      store.state.authorities.map(({ pem }) => pem),
    );
    const stateText = JSON.stringify([node.chain, node.key, node.rsa, clients]);
    if (stateText === this.#currentSource) return;
    this.#currentSource = stateText;
    const key = store.open(node.key);
    const pair = { certificate: node.chain, key, minVersion: 'TLSv1.2', honorCipherOrder: true } as const;
    const other = node.rsa && { certificate: node.rsa.chain, key: store.open(node.rsa.key) };
    this.#current = { ...pair, ...(other && { other }), ...(clients && { clients }) };
    for (const listener of [...this.#listeners]) listener();
  }

  async #import(): Promise<void> {
    const { files, store } = this.#deps;
    const { authority, node, names } = await files.load();
    const imported = authority && node && { authority, node, names, rsa: null };
    if (imported) await store.change((state) => this.#withIssued(state, imported));
    // The files contain private keys in plain text.
    await files.remove();
  }

  #renewIfStale(): void {
    if (this.#isBusy || !this.#isStale()) return;
    this.#isBusy = true;
    this.#running = this.#renewLogged();
  }

  async #renewLogged(): Promise<void> {
    try {
      await this.#renew();
    } catch (error) {
      this.#deps.log.error('certificates.renewal_failed', { reason: (error as Error).message });
    }
    this.#isBusy = false;
  }

  /** A certificate that an operator provided is never stale, whatever the node's name. */
  #isStale(): boolean {
    const node = this.#deps.store.state.nodes[this.#deps.view.self.uuid];
    if (node?.origin === 'inbox') return false;
    // A client may have set the cipher suites at another node, which generates only its own RSA certificate.
    const lacksRsa = this.#deps.suites().needsRsa && !node?.rsa;
    return lacksRsa || node?.names !== this.#wantedNames();
  }

  /** The names may change again while a certificate is generated. */
  async #renew(): Promise<void> {
    const { store } = this.#deps;
    while (this.#isStale()) {
      const issued = await this.#issue(this.#signer(store.state), this.#wantedNames());
      await store.change((state) => this.#withIssued(state, issued, false));
    }
  }

  async #issue(
    signer: KeyedCertificate | null,
    names: string,
    withRsa = this.#deps.suites().needsRsa,
  ): Promise<IssuedCertificates & { names: string }> {
    const issued = await this.#deps.issue({
      authority: signer,
      suffix: this.#deps.random.bytes(4).toString('hex'),
      serials: [this.#serial(), this.#serial(), this.#serial()],
      withRsa,
      names: names.split('\n').map(alternativeName),
    });
    return { ...issued, names };
  }

  #signer(state: CertificatesState): KeyedCertificate | null {
    const signer = signerOf(state);
    return signer?.key ? { certificate: signer.pem, key: this.#deps.store.open(signer.key) } : null;
  }

  #withIssued(
    before: CertificatesState,
    { authority, node, rsa, names }: IssuedCertificates & { names: string },
    replaceLoaded = true,
  ): CertificatesState {
    const { store, clock, view } = this.#deps;
    const pem = authority.certificate;
    const isNew = !before.authorities.some((present) => present.pem === pem);
    const stored = {
      origin: 'generated',
      pem,
      loadedMs: clock.wallMs(),
      key: store.seal(authority.key),
    } as const;
    const present = this.#withoutDeparted(before);
    const state = isNew ? withAuthority(present, stored) : present;
    const { uuid } = view.self;
    if (state.nodes[uuid]?.origin === 'inbox' && !replaceLoaded) return state;
    const authorityId = state.authorities.findLast((candidate) => candidate.pem === pem)?.id ?? 0;
    const sealed = ({ certificate, key }: KeyedCertificate) => ({ chain: certificate, key: store.seal(key) });
    const nodeCertificate = {
      origin: 'generated',
      ...sealed(node),
      ...(rsa && { rsa: sealed(rsa) }),
    } as const;
    return {
      ...state,
      nodes: { ...state.nodes, [uuid]: { ...nodeCertificate, authorityId, names, passphrase: {} } },
    };
  }

  /** Positive, and within the length that standards allow. */
  #serial(): string {
    return `4${this.#deps.random.bytes(16).toString('hex').slice(1)}`;
  }

  #wantedNames(): string {
    const { hostname, alternate } = this.#deps.view.self;
    const names = [...alwaysNamed, ...this.#deps.ownNames, hostname, alternate?.hostname];
    return [...new Set(names.filter((name) => name))].join('\n');
  }
}

const alternativeName = (name: string): AlternativeName => {
  const address = name.includes(':') || /^\d+\.\d+\.\d+\.\d+$/.test(name);
  return { kind: address ? 'ip' : 'dns', name };
};

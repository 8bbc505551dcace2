// The cluster's certificate authority and this node's certificate: made on first start, the node's again whenever the
// names that clients reach it by change.
import { X509Certificate } from 'node:crypto';
import { assert } from '#base/assert.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { Changing } from '../config/until.ts';
import type { AlternativeName, Issue, Issued, KeyedCertificate } from './issue.ts';

export interface KeptCertificates {
  authority: KeyedCertificate | null;
  node: KeyedCertificate | null;
  /** The names that the node's certificate was made for, as this service wrote them. */
  names: string;
}

export interface CertificateFiles {
  load(): Promise<KeptCertificates>;
  save(certificates: Issued & { names: string }): Promise<void>;
}

export interface NodeTls {
  certificate: string;
  key: string;
  minVersion: 'TLSv1.2';
  honorCipherOrder: boolean;
}

export interface CertificatesDeps {
  view: ClusterView;
  files: CertificateFiles;
  issue: Issue;
  random: Random;
  log: Log;
  /** Names and addresses that the node has whatever it is called: those it listens on, this machine's name. */
  ownNames: readonly string[];
}

export interface Authority {
  pem: string;
  /** `CN=Divan 1a2b3c4d`. */
  subject: string;
  notBefore: Date;
  notAfter: Date;
}

const alwaysNamed = ['localhost', '127.0.0.1', '::1'];

export class CertificatesService implements Changing {
  readonly #deps: CertificatesDeps;
  readonly #listeners = new Set<() => void>();
  #subscription: { stop(): void } | null = null;
  #authority: KeyedCertificate | null = null;
  #node: KeyedCertificate | null = null;
  #names = '';
  #busy = false;
  #started: Promise<void> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();

  constructor(deps: CertificatesDeps) {
    this.#deps = deps;
  }

  /** Resolves when there is a certificate for the present names; the rest of the node need not wait for that. */
  start(): Promise<void> {
    this.#started = this.#start();
    return this.#started;
  }

  async #start(): Promise<void> {
    const { authority, node, names } = await this.#deps.files.load();
    this.#authority = authority;
    if (authority && node) {
      this.#node = node;
      this.#names = names;
    }
    await this.#renew();
    this.#subscription = this.#deps.view.onChange(() => this.#want());
  }

  async stop(): Promise<void> {
    this.#subscription?.stop();
    await this.#running;
  }

  current(): NodeTls | null {
    return this.#node ? { ...this.#node, minVersion: 'TLSv1.2', honorCipherOrder: true } : null;
  }

  /** Waits for the first start's making of it. */
  async authority(): Promise<Authority> {
    await this.#started;
    assert(this.#authority, 'certificates are asked for after the start');
    const pem = this.#authority.certificate;
    const { subject, validFrom, validTo } = new X509Certificate(pem);
    return { pem, subject, notBefore: new Date(validFrom), notAfter: new Date(validTo) };
  }

  onChange(listener: () => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }

  #want(): void {
    if (this.#busy || this.#wantedNames() === this.#names) return;
    this.#busy = true;
    this.#running = this.#renewLogged();
  }

  async #renewLogged(): Promise<void> {
    try {
      await this.#renew();
    } catch (error) {
      this.#deps.log.error('certificates.renewal_failed', { reason: (error as Error).message });
    }
    this.#busy = false;
  }

  /** The names may change again while a certificate is made. */
  async #renew(): Promise<void> {
    while (this.#wantedNames() !== this.#names) {
      const names = this.#wantedNames();
      const issued = await this.#deps.issue({
        authority: this.#authority,
        suffix: this.#deps.random.bytes(4).toString('hex'),
        serials: [this.#serial(), this.#serial()],
        names: names.split('\n').map(alternativeName),
      });
      await this.#deps.files.save({ ...issued, names });
      this.#authority = issued.authority;
      this.#node = issued.node;
      this.#names = names;
      for (const listener of [...this.#listeners]) listener();
    }
  }

  /** Positive, and never longer than standards allow. */
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

// TLS and security settings: the choices, the effective value for each service, and which changes are refused.

import type { Log } from '#ports/log.ts';
import { isTls13, type TlsSpec } from '#ports/tls.ts';
import type { Edition } from '../config/cluster-state.ts';
import type { ChangeNotifier } from '../config/until.ts';
import type { WatchedSetting } from '../config/watched-setting.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import type { CipherNames } from './cipher-names.ts';
import { type KeyContext, type KeyPath, keyPath, readKey, readOnlyKey, withValue } from './security-keys.ts';
import {
  defaults,
  effectiveTls,
  needsRsa,
  runtimeVersion,
  type SecurityState,
  type ServiceName,
  services,
  type TlsChoices,
} from './security-state.ts';

export interface SecurityDeps {
  setting: WatchedSetting<SecurityState>;
  ciphers: CipherNames;
  edition: Edition;
  encryptsBetweenNodes: () => boolean;
  demandsClientCertificates: () => boolean;
  /** Names of references to other clusters that are not fully secure. */
  insecureReferences: () => readonly string[];
  /** Resolves when there is a certificate with an RSA key, if one can be generated. */
  addRsaCertificate: () => Promise<void>;
  /** Types of the keys of the node's certificates, as Node.js names them (`rsa`, `ec`); empty while there is no certificate. */
  keyKinds: () => readonly string[];
  log: Log;
}

/** A key as the request names it, and its new value. */
export interface WantedValue {
  steps: readonly string[];
  sent: string;
}

export class SecurityService implements ChangeNotifier {
  readonly #deps: SecurityDeps;

  constructor(deps: SecurityDeps) {
    this.#deps = deps;
  }

  get state(): SecurityState {
    return this.#deps.setting.value;
  }

  get supportedCipherSuites(): string[] {
    return this.#deps.ciphers.all;
  }

  /** Whether traffic between nodes is encrypted: otherwise there is no level. */
  get encryptsBetweenNodes(): boolean {
    return this.#deps.encryptsBetweenNodes();
  }

  get encryptionLevel() {
    return this.encryptsBetweenNodes
      ? (this.state.clusterEncryptionLevel ?? defaults.clusterEncryptionLevel)
      : null;
  }

  /** Whether chosen suites need an RSA key of the server. */
  get needsRsa(): boolean {
    return needsRsa(this.state);
  }

  /** The reason why a certificate with a key of this kind would leave a service without a suite; null if it would not. */
  problemWith(keyKind: string): string | null {
    return (
      services
        .map((service) => keyTypeProblem(this.state, service, [keyKind]))
        .find((problem) => problem !== null) ?? null
    );
  }

  /** The TLS options of a service's listeners, without the certificate. */
  tlsOf(service: ServiceName): Pick<TlsSpec, 'minVersion' | 'ciphers' | 'honorCipherOrder'> {
    const { tlsMinVersion, cipherSuites, honorCipherOrder } = effectiveTls(this.state, service);
    const ciphers = this.#deps.ciphers.toOpenssl(cipherSuites);
    return {
      minVersion: runtimeVersion[tlsMinVersion],
      honorCipherOrder,
      ...(ciphers.length > 0 && { ciphers }),
    };
  }

  onChange(listener: () => void): { stop(): void } {
    return this.#deps.setting.onChange(listener);
  }

  /** Sets all values, or none if one of them is refused. */
  async set(wanted: readonly WantedValue[]): Promise<void> {
    const problems: string[] = [];
    const read = wanted.map((change) => this.#read(change, problems));
    if (problems.length > 0) throw settingsRefusals.invalidSecurity(problems);
    const changed = (state: SecurityState) =>
      read.reduce((next, change) => (change ? withValue(next, change.path, change.value) : next), state);
    if (needsRsa(changed(this.state))) await this.#deps.addRsaCertificate();
    await this.#change((state) => {
      // Generating an RSA key takes a while: the state that the values depend on may have changed.
      for (const change of wanted) this.#read(change, problems);
      if (problems.length > 0) throw settingsRefusals.invalidSecurity(problems);
      return changed(state);
    });
    this.#deps.log.info('security.changed', { keys: wanted.map(({ steps }) => steps.join('.')) });
  }

  /** Resets to the default. */
  async reset(steps: readonly string[]): Promise<void> {
    const path = keyPath(steps);
    const text = steps.join('.');
    if (steps.at(-1) === readOnlyKey) throw settingsRefusals.readOnlyKey({ key: text });
    if (!path) throw settingsRefusals.unknownKey({ key: text });
    this.#requireEdition(path);
    await this.#change((state) => withValue(state, path, undefined));
    this.#deps.log.info('security.changed', { keys: [text] });
  }

  #read({ steps, sent }: WantedValue, problems: string[]): { path: KeyPath; value: unknown } | null {
    const path = keyPath(steps);
    const reading = this.#readValue(steps, path, sent);
    if ('value' in reading && path) return { path, value: reading.value };
    const { problem } = reading as { problem: string };
    problems.push(path || steps.at(-1) === readOnlyKey ? `${steps.join('.')} - ${problem}` : problem);
    return null;
  }

  #readValue(steps: readonly string[], path: KeyPath | null, sent: string) {
    if (steps.at(-1) === readOnlyKey) return { problem: 'Property is readonly' };
    if (!path?.key) return { problem: `Unknown key ${steps.join('.')}` };
    if (this.#needsEnterprise(path)) return { problem: 'not supported in community edition' };
    return readKey(path, sent, this.#keyContext);
  }

  get #keyContext(): KeyContext {
    const { ciphers, demandsClientCertificates, insecureReferences } = this.#deps;
    return {
      ciphers,
      encryptsBetweenNodes: this.encryptsBetweenNodes,
      demandsClientCertificates: demandsClientCertificates(),
      insecureReferences: insecureReferences(),
    };
  }

  #needsEnterprise({ service, key }: KeyPath): boolean {
    return this.#deps.edition === 'community' && (service !== null || key?.enterpriseOnly === true);
  }

  #requireEdition(path: KeyPath): void {
    if (this.#needsEnterprise(path)) throw settingsRefusals.keyNeedsEnterprise({ key: path.text });
  }

  async #change(next: (state: SecurityState) => SecurityState): Promise<void> {
    await this.#deps.setting.change((before) => {
      const after = next(before);
      const kinds = this.#deps.keyKinds();
      const problems = services.flatMap(
        (service) => versionProblem(after, service) ?? keyTypeProblem(after, service, kinds) ?? [],
      );
      if (problems.length > 0) throw settingsRefusals.invalidSecurity([...new Set(problems)]);
      return after;
    });
  }
}

/** The problem of suites that do not exist in any allowed TLS version: no client could connect. */
function versionProblem(state: SecurityState, service: ServiceName): string | null {
  const { cipherSuites, tlsMinVersion } = effectiveTls(state, service);
  if (cipherSuites.length === 0 || tlsMinVersion !== 'tlsv1.3') return null;
  if (cipherSuites.some((name) => !name.includes('_WITH_') && isTls13(name))) return null;
  const key = chosenAt(state, service, ['cipherSuites', 'tlsMinVersion']);
  return `${key} - None of the cipher suites is one of tlsv1.3, the lowest version allowed`;
}

/** The problem of suites that do not work with the node's certificate: no client could connect. */
function keyTypeProblem(state: SecurityState, service: ServiceName, kinds: readonly string[]): string | null {
  const { cipherSuites } = effectiveTls(state, service);
  const fits = (name: string) =>
    !name.includes('_WITH_') || kinds.includes(name.includes('_ECDSA_WITH_') ? 'ec' : 'rsa');
  if (cipherSuites.length === 0 || kinds.length === 0 || cipherSuites.some(fits)) return null;
  const keys = kinds.join(' and ').toUpperCase();
  const key = chosenAt(state, service, ['cipherSuites']);
  return `${key} - None of the cipher suites works with a certificate whose key is ${keys}`;
}

/** The key to name in a problem: that of the service if it has a choice of its own, else the common one. */
function chosenAt(state: SecurityState, service: ServiceName, keys: readonly (keyof TlsChoices)[]): string {
  const choices = state.services[service];
  return keys.some((key) => choices?.[key] !== undefined) ? `${service}.cipherSuites` : 'cipherSuites';
}

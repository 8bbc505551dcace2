// The keys of the security settings: which services have them, their values, and the texts of refusals.
import type { CipherNames } from './cipher-names.ts';
import {
  type EncryptionLevel,
  encryptionLevels,
  type SecurityState,
  type ServiceName,
  services,
  type TlsChoices,
  tlsVersions,
} from './security-state.ts';

/** The context in which values are validated. */
export interface KeyContext {
  ciphers: CipherNames;
  encryptsBetweenNodes: boolean;
  demandsClientCertificates: boolean;
  /** Names of references to other clusters that are not fully secure. */
  insecureReferences: readonly string[];
}

export type Reading<T = unknown> = { value: T } | { problem: string };
type Read = (sent: string, context: KeyContext) => Reading;

interface Key {
  readonly name: Exclude<keyof SecurityState, 'services'>;
  readonly read: Read;
  /** Services can have a value of their own. */
  readonly perService: boolean;
  readonly enterpriseOnly: boolean;
}

const boolean: Read = (sent) =>
  sent === 'true' || sent === 'false'
    ? { value: sent === 'true' }
    : { problem: "Accepted values are 'true' and 'false'." };

const common = { perService: false, enterpriseOnly: false };
const tls = { perService: true, enterpriseOnly: true };

export const keys: readonly Key[] = [
  { name: 'disableUIOverHttp', read: boolean, ...common },
  { name: 'disableUIOverHttps', read: boolean, ...common },
  { name: 'disableWWWAuthenticate', read: boolean, ...common },
  { name: 'responseHeaders', read: readHeaders, ...common, enterpriseOnly: true },
  { name: 'tlsMinVersion', read: (sent) => readVersion(sent, null), ...tls },
  { name: 'cipherSuites', read: readCiphers, ...tls },
  { name: 'honorCipherOrder', read: boolean, ...tls },
  { name: 'clusterEncryptionLevel', read: readLevel, ...common, enterpriseOnly: true },
];

/** A name in a path or form: `tlsMinVersion`, `data`, `data.tlsMinVersion`. */
export interface KeyPath {
  service: ServiceName | null;
  /** Null: the service as a whole. */
  key: Key | null;
  /** As refusals show it. */
  text: string;
}

export const readOnlyKey = 'supportedCipherSuites';

/** Null for an unknown path. */
export function keyPath(steps: readonly string[]): KeyPath | null {
  const [first = '', second] = steps;
  const text = steps.join('.');
  const service = services.find((name) => name === first) ?? null;
  if (steps.length > 2 || (service === null && steps.length > 1)) return null;
  if (service !== null && second === undefined) return { service, key: null, text };
  const key = keys.find(({ name }) => name === (second ?? first));
  return key && (service === null || key.perService) ? { service, key, text } : null;
}

/** The value that was sent for a key, or the reason of its refusal. */
export function readKey(path: KeyPath, sent: string, context: KeyContext): Reading {
  if (path.key?.name === 'tlsMinVersion') return readVersion(sent, path.service);
  return path.key?.read(sent, context) ?? { problem: 'Not supported' };
}

/** TLS 1.3 alone is allowed for services whose clients are known to support it. */
function readVersion(sent: string, service: ServiceName | null): Reading {
  const isManager = service === null || service === 'clusterManager';
  const accepted = tlsVersions.filter((version) => !isManager || version !== 'tlsv1.3');
  const found = accepted.find((version) => version === sent);
  if (found) return { value: found };
  return { problem: `Supported TLS versions are ${accepted.toReversed().join(', ')}` };
}

function readCiphers(sent: string, { ciphers }: KeyContext): Reading {
  const list = parse(sent);
  if (!Array.isArray(list) || !list.every((name) => typeof name === 'string')) {
    return { problem: 'Invalid format. Expecting a list of ciphers.' };
  }
  const unknown = list.filter((name) => ciphers.ianaNameOf(name) === null);
  if (unknown.length > 0) return { problem: `Invalid cipher suite names ${unknown.join(', ')}` };
  return { value: [...new Set(list.map((name) => ciphers.ianaNameOf(name)))] };
}

function readLevel(sent: string, context: KeyContext): Reading<EncryptionLevel> {
  if (!context.encryptsBetweenNodes) {
    return { problem: "Can't set cluster encryption level when cluster encryption is disabled." };
  }
  const level = encryptionLevels.find((name) => name === sent);
  if (!level) return { problem: 'Cluster encryption level must be one of ["control","all","strict"]' };
  const reason = problemOfLevel(level, context);
  if (reason === null) return { value: level };
  return { problem: `Can't set cluster encryption level to '${level}' when ${reason}.` };
}

function problemOfLevel(level: EncryptionLevel, context: KeyContext): string | null {
  if (level !== 'control' && context.demandsClientCertificates)
    return "client certificate authentication state is set to 'mandatory'";
  if (level !== 'strict' || context.insecureReferences.length === 0) return null;
  const names = context.insecureReferences.map((name) => `\`${name}\``).join(', ');
  return `the remote cluster references ${names} do not use full encryption: set their secureType to full, or delete them`;
}

const headerLengthMax = 256;

function readHeaders(sent: string): Reading<Record<string, string>> {
  const headers = parse(sent);
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    return { problem: 'Invalid format. Expecting a json.' };
  }
  const name = 'Strict-Transport-Security';
  if (Object.keys(headers).some((key) => key !== name)) {
    return { problem: `Only "${name}" header allowed` };
  }
  const value = (headers as Record<string, unknown>)[name];
  if (value === undefined) return { value: {} };
  return typeof value === 'string' && transportSecurity.test(value) && value.length <= headerLengthMax
    ? { value: { [name]: value } }
    : { problem: 'max-age directive is required' };
}

/** RFC 6797: `max-age` in seconds, and further directives. */
const transportSecurity = /^max-age=\d{1,10}(\s*;\s*(includeSubDomains|preload))*$/i;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The state with one value set, or, with `undefined`, reset to its default. */
export function withValue(state: SecurityState, { service, key }: KeyPath, value: unknown): SecurityState {
  if (service === null) return key ? changed(state, key.name, value) : state;
  const { [service]: choices = {}, ...others } = state.services;
  const next: TlsChoices = key ? changed(choices, key.name, value) : {};
  return { ...state, services: Object.keys(next).length > 0 ? { ...others, [service]: next } : others };
}

function changed<T extends object>(record: T, name: string, value: unknown): T {
  const others = Object.entries(record).filter(([present]) => present !== name);
  return Object.fromEntries(value === undefined ? others : [...others, [name, value]]) as T;
}

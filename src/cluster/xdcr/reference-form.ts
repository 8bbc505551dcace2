// The form of a reference to another cluster.
import { xdcrRefusals } from '../refusals/xdcr.refusals.ts';
import type { SecureType } from './xdcr-state.ts';

export interface ReferenceForm {
  readonly name: string;
  /** `host:port`. */
  readonly hostname: string;
  readonly username: string;
  readonly password: string;
  readonly secureType: SecureType;
  readonly certificate: string;
  readonly isExternal: boolean;
}

type Form = Readonly<Record<string, string>>;

const nameBytesMax = 256;
const defaultPort = 8091;
const ipv6Pattern = /^[0-9a-fA-F]*(?::[0-9a-fA-F.]*){2,7}$/;
const namePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** @throws AppError with all wrong fields */
export function readReference(form: Form): ReferenceForm {
  const { name = '', hostname = '', username = '', password = '', certificate = '' } = form;
  const problems: Record<string, string> = {};
  const addProblem = (field: string, problem: string | null) => {
    if (problem !== null) problems[field] ??= problem;
  };
  const secure = readSecureType(form);
  if (typeof secure !== 'string') Object.assign(problems, secure.problems);
  const secureType = typeof secure === 'string' ? secure : 'none';
  addProblem('name', nameProblem(name));
  addProblem('hostname', hostnameProblem(hostname));
  if (username === '')
    addProblem('username', 'username must be given: client certificates are not available in this version');
  if (password === '')
    addProblem(
      'password',
      username === '' ? 'password must be given' : 'password must be given when username is specified',
    );
  if (secureType === 'full' && certificate === '')
    addProblem('certificate', 'certificate must be given when secure type is full');
  if (secureType === 'none' && certificate !== '')
    addProblem('certificate', 'certificate cannot be given when secure type is none');
  for (const [field, label] of [
    ['clientCertificate', 'client certificate'],
    ['clientKey', 'client key'],
  ] as const)
    if ((form[field] ?? '') !== '')
      addProblem(
        field,
        secureType === 'full'
          ? 'Client certificates are not available in this version; give username and password'
          : `${label} cannot be given when secure type is not full`,
      );
  if (form['stage'] !== undefined)
    addProblem('stage', 'Staged credentials are not available in this version');
  const network = form['network_type'] ?? '';
  if (!['', 'external', 'default'].includes(network))
    addProblem('network_type', 'network_type specified is invalid');
  if (Object.keys(problems).length > 0) throw xdcrRefusals.invalidBare(problems);
  return {
    ...{ name, username, password, secureType, certificate },
    hostname: withPort(hostname),
    isExternal: network === 'external',
  };
}

const halfText = 'half encryption is not available in this version; use full, or none';

function readSecureType(form: Form): SecureType | { problems: Record<string, string> } {
  const { secureType, demandEncryption, encryptionType = 'full' } = form;
  if (secureType !== undefined && secureType !== '') {
    if (secureType === 'half') return { problems: { secureType: halfText } };
    if (secureType === 'none' || secureType === 'full') return secureType;
    return { problems: { secureType: 'Invalid value' } };
  }
  // Every value except the integer 0 demands encryption, an empty one too.
  if (demandEncryption === undefined || /^[+-]?0+$/.test(demandEncryption)) return 'none';
  if (encryptionType === 'half') return { problems: { encryptionType: halfText } };
  return encryptionType === 'full' ? 'full' : { problems: { encryptionType: 'invalid value' } };
}

function nameProblem(name: string): string | null {
  if (name === '') return 'cluster name is missing';
  const isValid =
    Buffer.byteLength(name) <= nameBytesMax && (namePattern.test(name) || ipv6Pattern.test(name));
  return isValid ? null : 'Remote cluster name should only be IPv4, IPv6, or alpha-numeric characters';
}

function hostnameProblem(hostname: string): string | null {
  if (hostname === '') return 'hostname (ip) is missing';
  if (ipv6Pattern.test(hostname)) return 'ipv6 address needs to be enclosed in square brackets';
  const match = /^(?:\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?$/.exec(hostname);
  const port = Number(match?.[1] ?? defaultPort);
  return match !== null && port > 0 && port < 65_536
    ? null
    : 'hostname must be a host name or an IP address, with an optional port from 1 to 65535';
}

const withPort = (hostname: string): string =>
  /:\d+$/.test(hostname.replace(/^\[.*\]/, '')) ? hostname : `${hostname}:${defaultPort}`;

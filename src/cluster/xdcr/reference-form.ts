// The form of a reference to another cluster.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { xdcrRefusals } from '../refusals/xdcr.refusals.ts';
import type { SecureType } from './xdcr-state.ts';

export interface ReferenceForm {
  readonly name: string;
  /** `host:port`. */
  readonly hostname: string;
  readonly username: string;
  readonly password: string;
  readonly secureType: SecureType;
  /** PEM; empty without encryption, and where `half` takes the certificate that the cluster shows. */
  readonly certificate: string;
  /** PEM; empty: username and password log in. */
  readonly clientCertificate: string;
  readonly clientKey: string;
  /** `network_type=external`: replications use the alternate addresses of the target. */
  readonly isExternal: boolean;
}

type Form = Readonly<Record<string, string>>;
type Problems = Readonly<Record<string, string>>;

const nameBytesMax = 256;
const defaultPort = 8091;
const ipv6Pattern = /^[0-9a-fA-F]*(?::[0-9a-fA-F.]*){2,7}$/;
const namePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** @throws AppError with all wrong fields */
export function readReferenceForm(form: Form): ReferenceForm {
  const { name = '', hostname = '', username = '', password = '', certificate = '' } = form;
  const { clientCertificate = '', clientKey = '' } = form;
  const secure = readSecureType(form);
  const secureType = typeof secure === 'string' ? secure : 'none';
  const network = form['network_type'] ?? '';
  const problems = {
    ...nonNull({
      name: nameProblem(name),
      hostname: hostnameProblem(hostname),
      stage: form['stage'] === undefined ? null : 'Staged credentials are not available in this version',
      network_type: ['', 'external', 'default'].includes(network)
        ? null
        : 'network_type specified is invalid',
      certificate: authorityProblem(secureType, certificate),
    }),
    ...(secureType === 'full' ? fullAccountProblems(form) : accountProblems(form)),
    ...(typeof secure !== 'string' && secure.problems),
  };
  if (Object.keys(problems).length > 0) throw xdcrRefusals.invalidBare(problems);
  return {
    name,
    username,
    password,
    secureType,
    certificate,
    clientCertificate,
    clientKey,
    hostname: withPort(hostname),
    isExternal: network === 'external',
  };
}

const nonNull = (problems: Readonly<Record<string, string | null>>): Problems =>
  Object.fromEntries(
    Object.entries(problems).flatMap(([field, text]) => (text === null ? [] : [[field, text]])),
  );

function authorityProblem(secureType: SecureType, certificate: string): string | null {
  if (secureType === 'none')
    return certificate === '' ? null : 'certificate cannot be given when secure type is none';
  if (certificate !== '' || secureType === 'half') return null;
  return 'certificate must be given when secure type is full';
}

function accountProblems(form: Form): Problems {
  const { username = '', password = '', clientCertificate = '', clientKey = '' } = form;
  const withoutFull = (given: string, label: string) =>
    given === '' ? null : `${label} cannot be given when secure type is not full`;
  return nonNull({
    username: username === '' ? 'username must be given when secure type is not full' : null,
    password: password === '' ? passwordText(username) : null,
    clientCertificate: withoutFull(clientCertificate, 'client certificate'),
    clientKey: withoutFull(clientKey, 'client key'),
  });
}

const passwordText = (username: string): string =>
  username === ''
    ? 'password must be given when secure type is not full'
    : 'password must be given when username is specified';

/** Either an account or a client certificate logs in. */
function fullAccountProblems(form: Form): Problems {
  const { username = '', password = '', clientCertificate = '', clientKey = '' } = form;
  if (username === '' && clientCertificate === '')
    return { _: 'either username or client certificate must be given when secure type is full' };
  if (username !== '' && clientCertificate !== '')
    return { _: 'username and client certificate cannot both be given when secure type is full' };
  if (clientCertificate !== '') return clientCertificateProblems(clientCertificate, clientKey);
  return nonNull({
    password: password === '' ? 'password must be given when username is specified' : null,
    clientKey: clientKey === '' ? null : 'client key cannot be given without a client certificate',
  });
}

function clientCertificateProblems(clientCertificate: string, clientKey: string): Problems {
  if (clientKey === '') return { clientKey: 'client key must be given when client certificate is specified' };
  const certificate = parsed(() => new X509Certificate(clientCertificate));
  if (certificate === null) return { clientCertificate: 'client certificate must be a certificate in PEM' };
  const key = parsed(() => createPrivateKey(clientKey));
  if (key === null) return { clientKey: 'client key must be an unencrypted private key in PEM' };
  return certificate.checkPrivateKey(key)
    ? {}
    : { clientKey: 'client key is not the key of the client certificate' };
}

function parsed<T>(parse: () => T): T | null {
  try {
    return parse();
  } catch {
    return null;
  }
}

function readSecureType(form: Form): SecureType | { problems: Problems } {
  const { secureType, demandEncryption, encryptionType = 'full' } = form;
  if (secureType !== undefined && secureType !== '')
    return isSecureType(secureType) ? secureType : { problems: { secureType: 'Invalid value' } };
  // Every value except the integer 0 demands encryption, an empty one too.
  if (demandEncryption === undefined || /^[+-]?0+$/.test(demandEncryption)) return 'none';
  if (encryptionType === 'half' || encryptionType === 'full') return encryptionType;
  return { problems: { encryptionType: 'invalid value' } };
}

const isSecureType = (text: string): text is SecureType => ['none', 'half', 'full'].includes(text);

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

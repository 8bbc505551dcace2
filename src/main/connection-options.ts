// How commands reach a running node: address and account. A password on the command line can be read by every user of the machine, so
// it can also come from the environment, a file or standard input.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { httpUrl } from './cloud-options.ts';
import { environmentName, kinds, UsageError } from './options.ts';

/** `service`: what listens at the address; `user`: which user the command needs. */
export const connectionOptions = (address: string, service: string, user: string) =>
  ({
    url: { kind: httpUrl(address), default: address, doc: `${service}, with http:// or https://` },
    ca: {
      kind: kinds.path,
      doc: 'PEM file of the authorities that may have issued the certificate of the node, for https:// (default: those that the machine trusts)',
    },
    username: { kind: kinds.text, default: 'Administrator', doc: user },
    password: { kind: kinds.text, doc: 'password of that user; better given by environment or file' },
    'password-file': {
      kind: kinds.path,
      doc: 'file whose first line is the password; -: standard input',
    },
  }) as const;

export const nodeConnection = (user: string) =>
  connectionOptions('http://127.0.0.1:8091', 'REST API of a node', user);

interface GivenAddress {
  readonly url: string;
  readonly ca: string | undefined;
}

export interface CommandTarget {
  readonly host: string;
  readonly port: number;
  /** PEM; null: those that the machine trusts; undefined: no TLS. */
  readonly authority: string | null | undefined;
}

/** @throws UsageError for a path, and for `--ca` that cannot be used */
export function commandTarget({ url, ca }: GivenAddress): CommandTarget {
  const { protocol, hostname, port, pathname } = new URL(url);
  if (pathname !== '/') throw new UsageError(`--url: "${url}" has a path; give the address of a node only`);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    authority: authorityOf({ url, ca }),
  };
}

/** The authorities for an address. @throws UsageError if `--ca` cannot be used */
export function authorityOf({ url, ca }: GivenAddress): CommandTarget['authority'] {
  const isSecure = new URL(url).protocol === 'https:';
  if (ca === undefined) return isSecure ? null : undefined;
  if (!isSecure)
    throw new UsageError(
      `--ca is given, but "${url}" has no TLS; give an address such as https://127.0.0.1:18091 with --url`,
    );
  const text = contentOf('--ca', ca, authorityBytesMax);
  try {
    new X509Certificate(text);
    return text;
  } catch {
    throw new UsageError(
      `--ca: ${ca} has no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----`,
    );
  }
}

interface GivenPassword {
  readonly password: string | undefined;
  readonly 'password-file': string | undefined;
}

const passwordBytesMax = 10_000;
const authorityBytesMax = 1_000_000;

/**
 * The password from the option, the file, standard input or the environment. `prefix`: of the names of the options. @throws UsageError if
 * there is none
 */
export function passwordOf(given: GivenPassword, prefix = ''): string {
  const { password, 'password-file': file } = given;
  const option = `--${prefix}password-file`;
  if (file === undefined) {
    if (password !== undefined) return password;
    throw new UsageError(
      `the password is missing: set ${environmentName(`${prefix}password`)}, or give ${option} PATH (-: standard input)`,
    );
  }
  if (password !== undefined)
    throw new UsageError(
      `--${prefix}password (or ${environmentName(`${prefix}password`)}) and ${option} are given; give one of them`,
    );
  const [line = ''] = contentOf(option, file, passwordBytesMax).split(/\r?\n/);
  if (line === '')
    throw new UsageError(`${option}: the first line of ${file === '-' ? 'standard input' : file} is empty`);
  return line;
}

function contentOf(option: string, file: string, bytesMax: number): string {
  try {
    const content = readFileSync(file === '-' ? 0 : file);
    if (content.length <= bytesMax) return content.toString();
  } catch (error) {
    throw new UsageError(`${option}: cannot read ${file}: ${(error as Error).message}`);
  }
  throw new UsageError(`${option}: ${file} has more than ${bytesMax} bytes`);
}

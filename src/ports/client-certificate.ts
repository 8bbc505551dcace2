// The user that a TLS client certificate names. The handshake verifies the certificate; this extracts the name.
import type { Server, TLSSocket } from 'node:tls';

/** The certificate field that contains the user name. */
export type CertificatePath = 'subject.cn' | 'san.uri' | 'san.dnsname' | 'san.email';

/** A value at `path` that begins with `prefix` names a user: the text after it, up to any character of `delimiter`. */
export interface CertificateNameRule {
  readonly path: CertificatePath;
  readonly prefix: string;
  readonly delimiter: string;
}

/** The client certificate settings of a TLS listener. */
export interface ClientCertificates {
  /** True: clients without a certificate are refused. False: a certificate is requested, and passwords work too. */
  readonly isDemanded: boolean;
  /** PEM of the trusted authorities. */
  readonly authorities: readonly string[];
  readonly names: readonly CertificateNameRule[];
}

/** The certificate of a connection. */
export interface ShownCertificate {
  /** Null: no rule matches. */
  readonly user: string | null;
  readonly isDemanded: boolean;
}

/** Applies the settings from the next connection on: the runtime reads these two properties for each connection. */
export function askForCertificates(server: Server, clients: ClientCertificates | undefined): void {
  Object.assign(server, {
    requestCert: clients !== undefined,
    rejectUnauthorized: clients?.isDemanded ?? false,
  });
}

/** Null: none was requested, or an optional one was not sent. `refused`: a demanded one is missing, or the one sent could not be verified. */
export function shownCertificate(
  socket: TLSSocket,
  clients: ClientCertificates | undefined,
): ShownCertificate | 'refused' | null {
  if (!clients) return null;
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return clients.isDemanded ? 'refused' : null;
  if (!socket.authorized) return 'refused';
  const { subject, subjectAltName } = certificate;
  return {
    user: certificateUser({ subject, subjectAltName }, clients.names),
    isDemanded: clients.isDemanded,
  };
}

export interface CertificateText {
  /**
   * One line for each part of the name: `CN=name`, or `CN=name + OU=unit` for a part with several attributes. Within a value a backslash
   * precedes each of these characters.
   */
  readonly subject: string;
  /** `DNS:host, email:user@example.com`; a value that contains separators is in double quotes. */
  readonly subjectAltName: string | undefined;
}

/** The first name that a rule finds, in the order of the rules. */
export function certificateUser(text: CertificateText, rules: readonly CertificateNameRule[]): string | null {
  for (const { path, prefix, delimiter } of rules) {
    for (const value of valuesAt(text, path)) {
      if (!value.startsWith(prefix)) continue;
      const rest = value.slice(prefix.length);
      const end = [...rest].findIndex((character) => delimiter.includes(character));
      const name = end < 0 ? rest : [...rest].slice(0, end).join('');
      if (name !== '') return name;
    }
  }
  return null;
}

const alternativeKinds = { 'san.uri': 'URI', 'san.dnsname': 'DNS', 'san.email': 'email' } as const;

function valuesAt({ subject, subjectAltName = '' }: CertificateText, path: CertificatePath): string[] {
  if (path === 'subject.cn') {
    // Not by `^` and `$`: they also match at U+2028 and U+2029, which may be within a value.
    const attributes = subject.split(/\n| \+ /);
    return attributes.flatMap((text) => (text.startsWith('CN=') ? [unescaped(text.slice(3))] : []));
  }
  const kind = alternativeKinds[path];
  return alternatives(subjectAltName).flatMap(([type, value]) => (type === kind ? [value] : []));
}

/** Unescapes a value: backslash before separators, control characters as two hex digits (RFC 4514, section 2.4). */
const unescaped = (value: string): string =>
  value.replace(/\\(?:([0-9A-Fa-f]{2})|(.))/g, (_, hex: string | undefined, character: string) =>
    hex === undefined ? character : String.fromCharCode(Number.parseInt(hex, 16)),
  );

function alternatives(text: string): [string, string][] {
  return [...text.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g)].map(([, kind, value]) => [
    kind as string,
    value?.startsWith('"') ? (JSON.parse(value) as string) : (value ?? ''),
  ]);
}

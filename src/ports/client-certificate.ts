// Who a TLS client is by its certificate. The certificate itself was judged by the handshake; this finds the name in it.
import type { Server, TLSSocket } from 'node:tls';

/** Where in a certificate user names are. */
export type CertificatePath = 'subject.cn' | 'san.uri' | 'san.dnsname' | 'san.email';

/** A value at the path that begins with the prefix names a user: what follows, up to any character of the delimiter. */
export interface CertificateNameRule {
  readonly path: CertificatePath;
  readonly prefix: string;
  readonly delimiter: string;
}

/** What a TLS listener asks of its clients. */
export interface ClientCertificates {
  /** Refuses those without one; else it is asked for, and passwords do as well. */
  readonly demanded: boolean;
  /** PEM of the authorities whose certificates are believed. */
  readonly authorities: readonly string[];
  readonly names: readonly CertificateNameRule[];
}

/** What a connection has shown. */
export interface ShownCertificate {
  /** Null: no rule finds a name in it. */
  readonly user: string | null;
  readonly demanded: boolean;
}

/** Has the listener ask for certificates from the next connection on; the runtime reads these two at each one. */
export function askForCertificates(server: Server, clients: ClientCertificates | undefined): void {
  Object.assign(server, {
    requestCert: clients !== undefined,
    rejectUnauthorized: clients?.demanded ?? false,
  });
}

/** Null: none was asked for, or none was shown. `refused`: one that is not to be believed. */
export function shownCertificate(
  socket: TLSSocket,
  clients: ClientCertificates | undefined,
): ShownCertificate | 'refused' | null {
  if (!clients) return null;
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return clients.demanded ? 'refused' : null;
  if (!socket.authorized) return 'refused';
  const { subject, subjectAltName } = certificate;
  return { user: certificateUser({ subject, subjectAltName }, clients.names), demanded: clients.demanded };
}

export interface CertificateText {
  /** Lines like `CN=name`. */
  readonly subject: string;
  /** `DNS:host, email:user@example.com`; values with separators in them are quoted. */
  readonly subjectAltName: string | undefined;
}

/** The first name that a rule finds, in the order of the rules. */
export function certificateUser(text: CertificateText, rules: readonly CertificateNameRule[]): string | null {
  for (const { path, prefix, delimiter } of rules) {
    for (const value of valuesAt(text, path)) {
      if (!value.startsWith(prefix)) continue;
      const rest = value.slice(prefix.length);
      const end = [...rest].findIndex((one) => delimiter.includes(one));
      const name = end < 0 ? rest : [...rest].slice(0, end).join('');
      if (name !== '') return name;
    }
  }
  return null;
}

const alternativeKinds = { 'san.uri': 'URI', 'san.dnsname': 'DNS', 'san.email': 'email' } as const;

function valuesAt({ subject, subjectAltName = '' }: CertificateText, path: CertificatePath): string[] {
  if (path === 'subject.cn') {
    return [...subject.matchAll(/^CN=(.*)$/gm)].map(([, value]) => unescaped(value as string));
  }
  const kind = alternativeKinds[path];
  return alternatives(subjectAltName).flatMap(([one, value]) => (one === kind ? [value] : []));
}

/** Separators have a backslash before them, control characters are two hex digits (RFC 4514, section 2.4). */
const unescaped = (value: string): string =>
  value.replace(/\\(?:([0-9A-Fa-f]{2})|(.))/g, (_, hex: string | undefined, one: string) =>
    hex === undefined ? one : String.fromCharCode(Number.parseInt(hex, 16)),
  );

function alternatives(text: string): [string, string][] {
  return [...text.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g)].map(([, kind, value]) => [
    kind as string,
    value?.startsWith('"') ? (JSON.parse(value) as string) : (value ?? ''),
  ]);
}

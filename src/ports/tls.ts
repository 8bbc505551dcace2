// The settings of a TLS listener and their translation to Node's TLS options, for all listeners in all threads.
import { randomBytes } from 'node:crypto';
import { DEFAULT_CIPHERS, getCiphers, type SecureContextOptions } from 'node:tls';
import type { ClientCertificates } from './client-certificate.ts';

export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

export interface TlsSpec {
  /** The certificate with its chain, as PEM. */
  readonly certificate: string;
  /** As PEM. */
  readonly key: string;
  /** A second certificate with a key of the other type (RSA or elliptic curve), for cipher suites that require that type. */
  readonly other?: { readonly certificate: string; readonly key: string };
  readonly minVersion: TlsVersion;
  /** OpenSSL names in preference order, including TLS 1.3; absent: the runtime's list. */
  readonly ciphers?: readonly string[];
  readonly honorCipherOrder: boolean;
  /** Absent: clients are not asked for a certificate. */
  readonly clients?: ClientCertificates;
}

const ticketKeyBytes = 48;

export function secureContextOptions(tls: TlsSpec): SecureContextOptions & { ticketKeys: Buffer } {
  const { ciphers, minVersion } = tls;
  const list = ciphers?.join(':') ?? DEFAULT_CIPHERS;
  const hasOldVersions = minVersion === 'TLSv1' || minVersion === 'TLSv1.1';
  return {
    cert: [tls.certificate, ...(tls.other ? [tls.other.certificate] : [])],
    key: [tls.key, ...(tls.other ? [tls.other.key] : [])],
    minVersion,
    honorCipherOrder: tls.honorCipherOrder,
    ...(tls.clients && { ca: [...tls.clients.authorities] }),
    // TLS 1.0 and 1.1 sign with hashes that OpenSSL 3 disables at its default security level.
    ciphers: hasOldVersions ? `${list}:@SECLEVEL=0` : list,
    // TLS 1.3 uses its own suites unless one is named.
    ...(ciphers && !ciphers.some(isTls13) && { maxVersion: 'TLSv1.2' }),
    ...(ciphers?.some((name) => name.startsWith('DHE-')) && { dhparam: 'auto' }),
    // New ticket keys at each change of the settings: otherwise a client could resume a session with the earlier settings.
    ticketKeys: randomBytes(ticketKeyBytes),
  };
}

/** For TLS 1.3 suites the OpenSSL name equals the IANA name. */
export const isTls13 = (opensslName: string): boolean => opensslName.startsWith('TLS_');

/** OpenSSL names of the suites that this runtime supports. */
export const runtimeCiphers = (): string[] => getCiphers();

// What a TLS listener is given, and what that means to the runtime's TLS: one place for all listeners, in every thread.
import { randomBytes } from 'node:crypto';
import { DEFAULT_CIPHERS, getCiphers, type SecureContextOptions } from 'node:tls';
import type { ClientCertificates } from './client-certificate.ts';

export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

export interface TlsSpec {
  /** PEM chain, PEM key. */
  readonly certificate: string;
  readonly key: string;
  /** A second certificate with a key of another kind, for suites that want that. */
  readonly other?: { readonly certificate: string; readonly key: string };
  readonly minVersion: TlsVersion;
  /** OpenSSL names, the best first, of TLS 1.3 too; without it the runtime's own list holds. */
  readonly ciphers?: readonly string[];
  readonly honorCipherOrder: boolean;
  /** Without it no client is asked for a certificate. */
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
    // The hashes that TLS 1.0 and 1.1 sign with are below the level that OpenSSL 3 starts with.
    ciphers: hasOldVersions ? `${list}:@SECLEVEL=0` : list,
    // Without a name for it, TLS 1.3 would keep its own suites.
    ...(ciphers && !ciphers.some(isTls13) && { maxVersion: 'TLSv1.2' }),
    ...(ciphers?.some((name) => name.startsWith('DHE-')) && { dhparam: 'auto' }),
    // A session from before a change would be resumed as it was agreed then.
    ticketKeys: randomBytes(ticketKeyBytes),
  };
}

/** Their OpenSSL names are their IANA names. */
export const isTls13 = (opensslName: string): boolean => opensslName.startsWith('TLS_');

/** OpenSSL names of what this runtime's OpenSSL can do. */
export const runtimeCiphers = (): string[] => getCiphers();

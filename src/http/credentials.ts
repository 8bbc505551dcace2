// The claimed identity of a request: from the certificate of its connection, or from the Authorization header, where Basic is
// the only scheme.
import type { ShownCertificate } from '#ports/client-certificate.ts';

export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic'; readonly name: string; readonly password: string }
  | { readonly kind: 'unusable' }
  /** `otherwise`: the identity if no user has that name; null where certificates are required. */
  | { readonly kind: 'certificate'; readonly user: string | null; readonly otherwise: Credentials | null };

/** A certificate takes precedence over a header. */
export function credentialsOf(header: string | undefined, certificate: ShownCertificate | null): Credentials {
  if (!certificate) return parseAuthorization(header);
  const otherwise = certificate.isDemanded ? null : parseAuthorization(header);
  return { kind: 'certificate', user: certificate.user, otherwise };
}

/** The claimed name; null without usable credentials. */
export function claimedName(credentials: Credentials): string | null {
  if (credentials.kind === 'basic') return credentials.name;
  if (credentials.kind !== 'certificate') return null;
  const { user, otherwise } = credentials;
  return user ?? (otherwise && claimedName(otherwise));
}

export function parseAuthorization(header: string | undefined): Credentials {
  if (header === undefined || header.trim() === '') return { kind: 'none' };
  // Not one pattern for the whole header: with blanks at both ends it takes quadratic time, and unauthenticated clients choose the input.
  const text = header.trim();
  const at = text.search(/\s/);
  const scheme = at < 0 ? text : text.slice(0, at);
  if (scheme.toLowerCase() !== 'basic') return { kind: 'unusable' };
  const encoded = at < 0 ? '' : text.slice(at).trimStart();
  return parsePair(Buffer.from(encoded, 'base64').toString('utf8'), encoded);
}

function parsePair(text: string, encoded: string): Credentials {
  if (encoded === '') return { kind: 'none' };
  if (!/^[A-Za-z0-9+/_-]+=*$/.test(encoded)) return { kind: 'unusable' };
  const at = text.indexOf(':');
  if (at < 0) return { kind: 'basic', name: text, password: '' };
  return { kind: 'basic', name: text.slice(0, at), password: text.slice(at + 1) };
}

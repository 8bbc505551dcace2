// The Authorization header. Basic is the only scheme.

export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic'; readonly name: string; readonly password: string }
  | { readonly kind: 'unusable' };

export function parseAuthorization(header: string | undefined): Credentials {
  if (header === undefined || header.trim() === '') return { kind: 'none' };
  const encoded = /^basic(?:\s+(\S*))?\s*$/i.exec(header);
  if (!encoded) return { kind: 'unusable' };
  return parsePair(Buffer.from(encoded[1] ?? '', 'base64').toString('utf8'), encoded[1] ?? '');
}

function parsePair(text: string, encoded: string): Credentials {
  if (encoded === '') return { kind: 'none' };
  if (!/^[A-Za-z0-9+/_-]+=*$/.test(encoded)) return { kind: 'unusable' };
  const at = text.indexOf(':');
  if (at < 0) return { kind: 'basic', name: text, password: '' };
  return { kind: 'basic', name: text.slice(0, at), password: text.slice(at + 1) };
}

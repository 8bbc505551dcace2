// The addresses that CURL() may read, by the cluster's allowlist. Addresses are compared by their parts: as texts, `https://a.example`
// would also permit `https://a.example.other.example`.
import type { CurlAllowlist } from '../query.contract.ts';

export function isAllowed(url: URL, { all_access, allowed_urls, disallowed_urls }: CurlAllowlist): boolean {
  if (all_access) return true;
  if (disallowed_urls.some((prefix) => hasPrefix(url, prefix) || url.href.startsWith(prefix))) return false;
  return allowed_urls.some((prefix) => hasPrefix(url, prefix));
}

/** The same protocol, host and port, and a path that begins with this one. */
function hasPrefix(url: URL, prefix: string): boolean {
  const wanted = URL.parse(prefix);
  if (wanted === null || wanted.host === '') return false;
  const isSameServer = wanted.protocol === url.protocol && wanted.host === url.host;
  return isSameServer && `${url.pathname}${url.search}`.startsWith(`${wanted.pathname}${wanted.search}`);
}

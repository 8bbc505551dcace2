// The addresses that CURL() may read, by the cluster's allowlist. Addresses are compared by their parts: as texts, `https://a.example`
// would also permit `https://a.example.other.example`. Paths are compared as a server may read them: decoded, and without empty segments.
import type { CurlAllowlist } from '../query.contract.ts';

/** The parts of an address that are compared. */
interface Parts {
  readonly server: string;
  readonly path: string;
  readonly query: string;
}

/** `url`: the whole address of the request, including data that an option adds to it. */
export function isAllowed(url: URL, { all_access, allowed_urls, disallowed_urls }: CurlAllowlist): boolean {
  if (all_access) return true;
  if (isAmbiguous(url)) return false;
  const parts = partsOf(url);
  if (disallowed_urls.some((prefix) => hasPrefix(parts, prefix) || url.href.startsWith(prefix))) return false;
  return allowed_urls.some((prefix) => hasPrefix(parts, prefix));
}

/** Whether servers disagree about the path: it has encoded slashes, backslashes or dot segments, or is encoded more often than `decoded` decodes. */
function isAmbiguous({ pathname }: URL): boolean {
  const path = decoded(pathname);
  if (slashes(path) !== slashes(pathname) || path !== decoded(path)) return true;
  return path.includes('\\') || /\/\.\.?(\/|$)/.test(path);
}

const slashes = (path: string): number => path.split('/').length;

/** The same protocol, host and port, and a path that begins with that of the prefix; if the prefix has a query, the same path and a query that begins with it. */
function hasPrefix({ server, path, query }: Parts, prefix: string): boolean {
  const url = URL.parse(prefix);
  if (url === null || url.host === '') return false;
  const wanted = partsOf(url);
  if (wanted.server !== server) return false;
  return wanted.query === ''
    ? path.startsWith(wanted.path)
    : path === wanted.path && query.startsWith(wanted.query);
}

const partsOf = ({ protocol, host, pathname, search }: URL): Parts => ({
  server: `${protocol}//${host}`,
  path: decoded(pathname).replace(/\/+/g, '/'),
  query: decoded(search),
});

/** How often a path is decoded: proxies before the server may decode, too. */
const decodings = 3;

/** Each decoded byte becomes one character. */
function decoded(text: string): string {
  let plain = text;
  for (let round = 0; round < decodings; round++)
    plain = plain.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return plain;
}

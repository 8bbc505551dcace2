// The address of a page: `#/documents/travel/_default?key=a`. Every part is percent-encoded.
import { useEffect, useState } from 'preact/hooks';

export interface Address {
  /** Empty: the first page. */
  readonly page: string;
  readonly parts: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export function useAddress(): Address {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const change = () => setHash(location.hash);
    addEventListener('hashchange', change);
    return () => removeEventListener('hashchange', change);
  }, []);
  return parseAddress(hash);
}

export function parseAddress(hash: string): Address {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [page = '', ...parts] = path.split('/').map(decoded);
  return { page, parts, query: Object.fromEntries(new URLSearchParams(search)) };
}

export function addressTo(parts: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${search && `?${search}`}`;
}

export function go(parts: readonly string[], query: Readonly<Record<string, string>> = {}): void {
  location.hash = addressTo(parts, query);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

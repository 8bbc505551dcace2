/** Splits `host:port`, where an IPv6 address has brackets; the host that is returned has none. */
export function hostAndPortOf(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}

/** The host as it stands in a URL or before a port: an IPv6 address in brackets. */
export const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** The host of `host:port` as it is written there: an IPv6 address keeps its brackets. */
export const withoutPort = (address: string): string => address.slice(0, address.lastIndexOf(':'));

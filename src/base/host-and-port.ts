/** Splits `host:port`, where an IPv6 address has brackets; the host that is returned has none. */
export function hostAndPortOf(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}

// Socket addresses as text.

/** Removes the prefix with which dual-stack sockets report an IPv4 address. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/** Groups of 16 bits in an IPv6 address, and in the part of it that names a /64 network. */
const groupCount = { address: 8, network: 4 } as const;

/**
 * The source of a client for limits per source: the /64 network of an IPv6 address, since the owner of one address usually has the whole
 * network; for any other text what `plainAddress` returns.
 */
export function sourceOf(address: string): string {
  const plain = plainAddress(address);
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.replace(/%.*$/, '').split('::') as [string, string?];
  const groups = (text: string): string[] => text.split(':').filter((group) => group !== '');
  const first = groups(head);
  const last = groups(tail ?? '');
  const omitted = Math.max(0, groupCount.address - first.length - last.length);
  const all = [...first, ...Array.from({ length: tail === undefined ? 0 : omitted }, () => '0'), ...last];
  return `${all
    .slice(0, groupCount.network)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')}::`;
}

/** True for an IP address, false for a host name: a name has no colon, and its last label is never a number. */
export const isAddress = (host: string): boolean => host.includes(':') || /^\d+(\.\d+){3}$/.test(host);

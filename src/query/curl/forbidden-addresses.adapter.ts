// Network addresses that CURL() never reads, whatever the allowlist permits: those of this machine, of its links, and of no single host.
import { isIPv4, isIPv6 } from 'node:net';

type Groups = readonly number[];

/** Networks as address and length of the prefix. */
const ipv4Networks: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8], // this machine
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, with the metadata service of clouds
  ['100.100.100.200', 32], // the metadata service of a cloud
  ['192.0.0.192', 32], // the metadata service of another
  ['168.63.129.16', 32], // the host of a virtual machine of another
  ['224.0.0.0', 3], // multicast, reserved, broadcast
];

const ipv6Networks: readonly (readonly [string, number])[] = [
  ['::', 127], // unspecified, loopback
  ['fe80::', 10], // link-local
  ['fec0::', 10], // site-local, of old
  ['fd00:ec2::254', 128], // the metadata service of a cloud
  ['fd20:ce::254', 128], // the metadata service of another
  ['ff00::', 8], // multicast
];

/** Prefixes of IPv6 that have an IPv4 address in them, with the group in which that begins. */
const embeddings: readonly (readonly [string, number, number])[] = [
  ['::ffff:0:0', 96, 6],
  ['::', 96, 6],
  ['::ffff:0:0:0', 96, 6],
  ['64:ff9b::', 96, 6],
  ['2002::', 16, 1],
];

/** `own`: the addresses of this machine's interfaces. */
export function isForbidden(address: string, own: readonly string[]): boolean {
  const groups = groupsOf(address);
  if (groups === null) return true;
  return isOfNetworks(groups) || own.some((each) => isSame(groups, groupsOf(each)));
}

function isOfNetworks(groups: Groups): boolean {
  const embedded = groups.length === 2 ? groups : embeddedIn(groups);
  if (embedded !== null && ipv4Networks.some(([network, bits]) => isWithin(embedded, network, bits)))
    return true;
  return groups.length === 8 && ipv6Networks.some(([network, bits]) => isWithin(groups, network, bits));
}

function embeddedIn(groups: Groups): Groups | null {
  const found = embeddings.find(([network, bits]) => isWithin(groups, network, bits));
  return found === undefined ? null : groups.slice(found[2], found[2] + 2);
}

function isSame(a: Groups, b: Groups | null): boolean {
  const plain = (groups: Groups): string =>
    (groups.length === 2 ? groups : (embeddedIn(groups) ?? groups)).join();
  return b !== null && plain(a) === plain(b);
}

function isWithin(groups: Groups, network: string, bits: number): boolean {
  const wanted = groupsOf(network) as Groups;
  return wanted.every((group, at) => {
    const shift = 16 - Math.min(16, Math.max(0, bits - at * 16));
    return group >> shift === (groups[at] ?? 0) >> shift;
  });
}

/** 16-bit groups: two of an IPv4 address, eight of an IPv6 address; null for other texts. */
function groupsOf(text: string): Groups | null {
  const address = text.replace(/%.*$/, '');
  if (isIPv4(address)) return ipv4Groups(address);
  if (!isIPv6(address)) return null;
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address);
  const [head = '', tail] = (dotted?.[1] ?? address).split('::') as [string, string?];
  const hex = (part: string): number[] =>
    part
      .split(':')
      .filter((group) => group !== '')
      .map((group) => Number.parseInt(group, 16));
  const last = [...hex(tail ?? ''), ...(dotted === null ? [] : ipv4Groups(dotted[2] as string))];
  const first = hex(head);
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => 0);
  return [...first, ...zeros, ...last];
}

function ipv4Groups(address: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

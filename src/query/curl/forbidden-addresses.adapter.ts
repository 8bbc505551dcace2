// Network addresses that CURL() never reads, whatever the allowlist permits: those of this machine and of its network link, of metadata services of clouds, and those that name no single host.
import { isIP, isIPv4 } from 'node:net';
import { AddressRanges } from '#ports/address-ranges.ts';

const ipv4Ranges = [
  '0.0.0.0/8', // this machine
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, with the metadata service of clouds
  '100.100.100.200/32', // metadata service of Alibaba Cloud
  '192.0.0.192/32', // metadata service of Oracle Cloud
  '168.63.129.16/32', // host of virtual machines of Azure
  '224.0.0.0/3', // multicast, reserved, broadcast
];

const ipv6Ranges = [
  '::/127', // unspecified, loopback
  'fe80::/10', // link-local
  'fec0::/10', // site-local (deprecated)
  'fd00:ec2::254', // metadata service of AWS
  'fd20:ce::254', // metadata service of Google Cloud
  'ff00::/8', // multicast
];

/** An IPv4 range, and the IPv6 ranges whose addresses embed the addresses of that range. */
function withEmbedded(range: string): string[] {
  const [address = '', bits = ''] = range.split('/');
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const [high, low] = [a * 256 + b, c * 256 + d].map((group) => group.toString(16));
  const embeddedIn = (prefix: string): string => `${prefix}${address}/${96 + Number(bits)}`;
  // IPv4-mapped, IPv4-compatible, IPv4-translated, NAT64 and 6to4 addresses.
  return [
    range,
    ...['::ffff:', '::', '::ffff:0:', '64:ff9b::'].map(embeddedIn),
    `2002:${high}:${low}::/${16 + Number(bits)}`,
  ];
}

const forbidden = new AddressRanges([...ipv4Ranges.flatMap(withEmbedded), ...ipv6Ranges]);

/** `own`: the addresses of this machine's interfaces. */
export function isForbidden(address: string, own: readonly string[]): boolean {
  const plain = withoutZone(address);
  if (isIP(plain) === 0 || forbidden.has(plain)) return true;
  const ownRanges = own
    .map(withoutZone)
    .flatMap((each) => (isIPv4(each) ? withEmbedded(`${each}/32`) : [each]));
  return new AddressRanges(ownRanges).has(plain);
}

const withoutZone = (address: string): string => address.replace(/%.*$/, '');

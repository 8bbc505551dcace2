// Ranges of network addresses.
import { BlockList, isIP } from 'node:net';

const [v4Bits, addressBits] = [32, 128];
/** `::ffff:0:0/96` contains the addresses of IPv4. */
const mappedPrefix = 0xffffn << 32n;
const groupsOfAddress = 8;

interface Range {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** IPv4 or IPv6, alone or with the length of a prefix: `10.1.0.0/16`. */
export const isAddressRange = (text: string): boolean => parse(text) !== null;

/** Equal for two texts if they are the same range: `10.1.2.3/8` is `10.0.0.0/8`, and `::ffff:10.0.0.0/104` as well. */
export function rangeIdentity(text: string): string {
  const range = parse(text);
  if (range === null) return text;
  const isV4 = range.family === 'ipv4';
  const prefix = isV4 ? addressBits - v4Bits + range.prefix : range.prefix;
  const bits = isV4 ? mappedPrefix + v4Number(range.address) : v6Number(range.address);
  return `${bits >> BigInt(addressBits - prefix)}/${prefix}`;
}

export class AddressRanges {
  readonly #list = new BlockList();

  /** Texts that are no ranges contain no address. */
  constructor(ranges: readonly string[]) {
    for (const text of ranges) {
      const range = parse(text);
      if (range !== null) this.#list.addSubnet(range.address, range.prefix, range.family);
    }
  }

  has(address: string): boolean {
    const version = isIP(address);
    return version !== 0 && this.#list.check(address, version === 4 ? 'ipv4' : 'ipv6');
  }
}

function parse(text: string): Range | null {
  const [address = '', length, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0 || address.includes('%')) return null;
  const bits = version === 4 ? v4Bits : addressBits;
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  return prefix <= bits ? { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' } : null;
}

const numberOf = (digits: readonly string[], base: bigint, prefix = ''): bigint =>
  digits.reduce((sum, digit) => sum * base + BigInt(`${prefix}${digit}`), 0n);

const v4Number = (address: string): bigint => numberOf(address.split('.'), 256n);

/** `address` may have `::` in place of groups that are 0, and end with an address of IPv4. */
function v6Number(address: string): bigint {
  const hexadecimal = address.replace(/[\d.]+\.\d+$/, (end) => {
    const bits = v4Number(end);
    return `${(bits >> 16n).toString(16)}:${(bits & 0xffffn).toString(16)}`;
  });
  const [before = [], after = []] = hexadecimal
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: groupsOfAddress - before.length - after.length }, () => '0');
  return numberOf([...before, ...zeros, ...after], 65_536n, '0x');
}

// Ranges of network addresses.
import { BlockList, isIP } from 'node:net';

interface Range {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** IPv4 or IPv6, alone or with the length of a prefix: `10.1.0.0/16`. */
export const isAddressRange = (text: string): boolean => parse(text) !== null;

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
  const bits = version === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  return prefix <= bits ? { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' } : null;
}

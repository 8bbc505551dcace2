// Addresses of a socket's ends.

/** A dual-stack socket tells of an IPv4 address with an IPv6 prefix: this is the address without. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

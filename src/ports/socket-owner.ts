// Finds the user whose process holds the other end of a local connection, from the kernel's tables (Linux). Any local user can
// connect from any loopback address, so the address does not identify the user.
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { plainAddress } from '#base/address.ts';
import { isLoopback } from '#base/loopback.ts';

const established = '01';
/** The only loopback address of IPv6: both ends of a connection have it. */
const ipv6Loopback = '::1';
const ipv6LoopbackHex = '01000000'.padStart(32, '0');

/** False if the other end has a loopback address and its process belongs neither to this user nor to root, or the table lacks it. */
export function isOwnPeer(socket: Socket): boolean {
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = socket;
  const from = plainAddress(remoteAddress);
  if (process.platform !== 'linux' || !isLoopback(from)) return true;
  const peer = hexOf(from, remotePort);
  const localEnd = hexOf(plainAddress(localAddress), localPort);
  const table = readFileSync(from === ipv6Loopback ? '/proc/net/tcp6' : '/proc/net/tcp', 'latin1');
  const uid = uidOf(table, peer, localEnd);
  return uid !== null && (uid === 0 || uid === process.getuid?.());
}

/** The user id in the table's line of an open connection from `peer` to `localEnd`; null without one. */
export function uidOf(table: string, peer: string, localEnd: string): number | null {
  const line = table.split('\n').find((each) => each.includes(`: ${peer} ${localEnd} ${established} `));
  const uid = line?.trim().split(/\s+/)[7];
  return uid === undefined ? null : Number(uid);
}

/** The kernel's notation of an IPv4 address, or of `::1`: the bytes of each group of four in reverse order. */
export function hexOf(address: string, port: number): string {
  const bytes = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'));
  const host = address === ipv6Loopback ? ipv6LoopbackHex : bytes.reverse().join('');
  return `${host}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

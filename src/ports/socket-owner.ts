// Finds the user whose process holds the other end of a local connection, from the kernel's table (Linux). Any local user can
// connect from any loopback address, so the address does not identify the user.
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { plainAddress } from '#base/address.ts';

const established = '01';

/** False if the other end is on this machine and its process belongs neither to this user nor to root, or the table lacks it. */
export function isOwnPeer(socket: Socket): boolean {
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = socket;
  const from = plainAddress(remoteAddress);
  if (process.platform !== 'linux' || !from.startsWith('127.')) return true;
  const peer = hexOf(from, remotePort);
  const localEnd = hexOf(plainAddress(localAddress), localPort);
  const uid = uidOf(readFileSync('/proc/net/tcp', 'latin1'), peer, localEnd);
  return uid !== null && (uid === 0 || uid === process.getuid?.());
}

/** The user id in the table's line of an open connection from `peer` to `localEnd`; null without one. */
export function uidOf(table: string, peer: string, localEnd: string): number | null {
  const line = table.split('\n').find((each) => each.includes(`: ${peer} ${localEnd} ${established} `));
  const uid = line?.trim().split(/\s+/)[7];
  return uid === undefined ? null : Number(uid);
}

/** The kernel's notation: the bytes of the address in reverse order. */
export function hexOf(address: string, port: number): string {
  const bytes = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'));
  return `${bytes.reverse().join('')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

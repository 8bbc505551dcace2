// The client allowlist at a listener. A connection from an address that is not admitted is closed before a byte is read; open
// connections are closed when their address leaves the list.
import { BlockList, isIP, type Socket } from 'node:net';
import { plainAddress } from '#base/address.ts';
import { isOwnPeer } from './socket-owner.ts';

/** IPv4 or IPv6, alone or with the length of a prefix: `10.1.0.0/16`. */
export const isAddressRange = (text: string): boolean => parse(text) !== null;

interface Range {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

function parse(text: string): Range | null {
  const [address = '', length, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0 || address.includes('%')) return null;
  const bits = version === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  return prefix <= bits ? { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' } : null;
}

const operatorPrefix = 'operator:';

/** An entry of the list: admits connections from `address` only if their process belongs to this user or to root. */
export const operatorEntry = (address: string): string => `${operatorPrefix}${address}`;

export class ClientGate {
  readonly #isOwnPeer: (socket: Socket) => boolean;
  #operators: ReadonlySet<string> = new Set();
  /** Null: all addresses are admitted. */
  #admitted: BlockList | null = null;
  readonly #open = new Set<Socket>();

  constructor(isOwn: (socket: Socket) => boolean = isOwnPeer) {
    this.#isOwnPeer = isOwn;
  }

  /** Replaces the admitted ranges; null admits all addresses. */
  admitOnly(ranges: readonly string[] | null): void {
    const operators = (ranges ?? []).filter((text) => text.startsWith(operatorPrefix));
    this.#operators = new Set(operators.map((text) => text.slice(operatorPrefix.length)));
    this.#admitted = ranges === null ? null : listOf(ranges);
    // Connections by operator entries were checked when they were accepted.
    for (const socket of this.#open)
      if (!this.admits(socket.remoteAddress) && !this.#isOfOperator(socket)) socket.destroy();
  }

  admits(address: string | undefined): boolean {
    if (this.#admitted === null) return true;
    const plain = plainAddress(address ?? '');
    const version = isIP(plain);
    return version !== 0 && this.#admitted.check(plain, version === 4 ? 'ipv4' : 'ipv6');
  }

  /** Checks a new socket: returns false after closing it, else keeps checking it when the list changes. */
  pass(socket: Socket): boolean {
    if (this.refuses(socket)) return false;
    this.follow(socket);
    return true;
  }

  /** Closes the socket and returns true if its address is not admitted. */
  refuses(socket: Socket): boolean {
    if (this.admits(socket.remoteAddress)) return false;
    if (this.#isOfOperator(socket) && this.#isOwnPeer(socket)) return false;
    socket.on('error', () => {}); // no other error listener remains
    socket.destroy();
    return true;
  }

  #isOfOperator({ remoteAddress }: Socket): boolean {
    return this.#operators.has(plainAddress(remoteAddress ?? ''));
  }

  /** Closes the socket when its address leaves the list. */
  follow(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of ranges) {
    const range = parse(text);
    if (range !== null) list.addSubnet(range.address, range.prefix, range.family);
  }
  return list;
}

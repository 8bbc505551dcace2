// The client allowlist at a listener. A connection from an address that is not admitted is closed before a byte is read; open
// connections are closed when their address leaves the list.
import type { Socket } from 'node:net';
import { plainAddress } from '#base/address.ts';
import { AddressRanges } from './address-ranges.ts';
import { isOwnPeer } from './socket-owner.ts';

const operatorPrefix = 'operator:';

/** An entry of the list: admits connections from `address` only if their process belongs to this user or to root. */
export const operatorEntry = (address: string): string => `${operatorPrefix}${address}`;

export class ClientGate {
  readonly #isOwnPeer: (socket: Socket) => boolean;
  #operators: ReadonlySet<string> = new Set();
  /** Null: all addresses are admitted. */
  #admitted: AddressRanges | null = null;
  readonly #open = new Set<Socket>();

  constructor(isOwn: (socket: Socket) => boolean = isOwnPeer) {
    this.#isOwnPeer = isOwn;
  }

  /** Replaces the admitted ranges; null admits all addresses. */
  admitOnly(ranges: readonly string[] | null): void {
    const operators = (ranges ?? []).filter((text) => text.startsWith(operatorPrefix));
    this.#operators = new Set(operators.map((text) => text.slice(operatorPrefix.length)));
    // Operator entries are no ranges, so `AddressRanges` ignores them.
    this.#admitted = ranges === null ? null : new AddressRanges(ranges);
    // The owners of connections that operator entries admitted were checked when those were accepted.
    for (const socket of this.#open)
      if (!this.admits(socket.remoteAddress) && !this.#isOfOperator(socket)) socket.destroy();
  }

  admits(address: string | undefined): boolean {
    return this.#admitted === null || this.#admitted.has(plainAddress(address ?? ''));
  }

  /** Checks a new socket: returns false after closing it, else keeps checking it when the list changes. */
  pass(socket: Socket): boolean {
    if (this.refuses(socket)) return false;
    this.follow(socket);
    return true;
  }

  /** Closes a new socket and returns true if its address is not admitted. */
  refuses(socket: Socket): boolean {
    if (this.admits(socket.remoteAddress)) return false;
    if (this.#isOfOperator(socket) && this.#isOwnPeer(socket)) return false;
    socket.on('error', () => {}); // a socket without a listener for errors throws them
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

// Memory budget for large requests that are arriving. A request is read only after memory for all of it is reserved, so that
// every request that has started can finish; the others wait unread in their sockets.

export interface InputLimits {
  perUser: number;
  total: number;
}

/** A connection that waits for memory. */
export interface RoomWaiter {
  /** Memory was released: try to reserve again. */
  roomFreed(): void;
}

export class InputBudget {
  private readonly limits: InputLimits;
  private readonly byUser = new Map<string, number>();
  private readonly waiting = new Set<RoomWaiter>();
  /** Users whose waiting requests exceed their own limit, and whether some exceed that of all. */
  private readonly waitingUsers = new Set<string>();
  private isTotalExceeded = false;
  private reservedBytes = 0;

  constructor(limits: InputLimits) {
    this.limits = limits;
  }

  /** Reserved bytes of all users. */
  get bytes(): number {
    return this.reservedBytes;
  }

  /** Returns false if there is not enough memory; `waiter.roomFreed` is then called when some is released. */
  reserve(user: string, bytes: number, waiter: RoomWaiter): boolean {
    const ofUser = this.byUser.get(user) ?? 0;
    const { perUser, total } = this.limits;
    if (ofUser + bytes > perUser) this.waitingUsers.add(user);
    else if (this.reservedBytes + bytes > total) this.isTotalExceeded = true;
    else {
      this.byUser.set(user, ofUser + bytes);
      this.reservedBytes += bytes;
      return true;
    }
    this.waiting.add(waiter);
    return false;
  }

  /** Whether a request waits for memory that this user has reserved. */
  isWantedFrom(user: string): boolean {
    return this.waiting.size > 0 && (this.isTotalExceeded || this.waitingUsers.has(user));
  }

  release(user: string, bytes: number): void {
    this.reservedBytes -= bytes;
    const left = (this.byUser.get(user) ?? 0) - bytes;
    if (left > 0) this.byUser.set(user, left);
    else this.byUser.delete(user);
    const waiting = [...this.waiting];
    this.waiting.clear();
    this.waitingUsers.clear();
    this.isTotalExceeded = false;
    for (const waiter of waiting) waiter.roomFreed();
  }

  /** The connection waits no longer. */
  discard(waiter: RoomWaiter): void {
    this.waiting.delete(waiter);
  }
}

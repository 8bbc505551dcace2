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
  /** The user whose own limit the request exceeds; null: it exceeds the limit of all. */
  private readonly waiting = new Map<RoomWaiter, string | null>();
  /** How many requests wait by user, and under null for the memory of all. */
  private readonly waitingFor = new Map<string | null, number>();
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
    if (ofUser + bytes > perUser) this.wait(waiter, user);
    else if (this.reservedBytes + bytes > total) this.wait(waiter, null);
    else {
      this.byUser.set(user, ofUser + bytes);
      this.reservedBytes += bytes;
      return true;
    }
    return false;
  }

  /** Whether a request waits for memory that this user has reserved. */
  isWantedFrom(user: string): boolean {
    return this.waitingFor.has(null) || this.waitingFor.has(user);
  }

  release(user: string, bytes: number): void {
    this.reservedBytes -= bytes;
    const left = (this.byUser.get(user) ?? 0) - bytes;
    if (left > 0) this.byUser.set(user, left);
    else this.byUser.delete(user);
    const waiting = [...this.waiting.keys()];
    this.waiting.clear();
    this.waitingFor.clear();
    for (const waiter of waiting) waiter.roomFreed();
  }

  /** The connection waits no longer. */
  discard(waiter: RoomWaiter): void {
    const key = this.waiting.get(waiter);
    if (key === undefined) return;
    this.waiting.delete(waiter);
    const left = (this.waitingFor.get(key) ?? 0) - 1;
    if (left > 0) this.waitingFor.set(key, left);
    else this.waitingFor.delete(key);
  }

  private wait(waiter: RoomWaiter, key: string | null): void {
    this.discard(waiter);
    this.waiting.set(waiter, key);
    this.waitingFor.set(key, (this.waitingFor.get(key) ?? 0) + 1);
  }
}

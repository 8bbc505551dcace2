// Memory for requests that have not arrived in full. A large one begins to take memory only once there is room for all of it,
// so that those that began can always end; the others wait, unread.

export interface InputLimits {
  perUser: number;
  total: number;
}

/** Who waits for room. */
export interface Waiting {
  /** There may be room now. */
  roomCame(): void;
}

export class InputBudget {
  private readonly limits: InputLimits;
  private readonly byUser = new Map<string, number>();
  private readonly waiting = new Set<Waiting>();
  private taken = 0;

  constructor(limits: InputLimits) {
    this.limits = limits;
  }

  get bytes(): number {
    return this.taken;
  }

  /** False when there is no room: `waiting` hears when some comes. */
  take(user: string, bytes: number, waiting: Waiting): boolean {
    const own = this.byUser.get(user) ?? 0;
    if (own + bytes > this.limits.perUser || this.taken + bytes > this.limits.total) {
      this.waiting.add(waiting);
      return false;
    }
    this.byUser.set(user, own + bytes);
    this.taken += bytes;
    return true;
  }

  give(user: string, bytes: number): void {
    this.taken -= bytes;
    const left = (this.byUser.get(user) ?? 0) - bytes;
    if (left > 0) this.byUser.set(user, left);
    else this.byUser.delete(user);
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const one of waiting) one.roomCame();
  }

  forget(waiting: Waiting): void {
    this.waiting.delete(waiting);
  }
}

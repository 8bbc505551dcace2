// Limits the concurrent requests: further ones wait in a bounded queue, then they are refused. One user's requests cannot take all
// places, and the user with the fewest running requests is next.
import { type Deferred, deferred, whenAdmitted } from '#base/deferred.ts';
import { UserPlaces, UserQueue } from '#base/user-places.ts';

interface Waiting {
  readonly user: string;
  readonly slot: Deferred<void>;
}

/** Requests beyond the limit, for users who have none running. */
const spareRunning = 1;
/** Requests beyond a full queue, for users who have none in it. */
export const spareWaiting = 64;

export class Admission {
  private readonly running: UserPlaces;
  private readonly queue: UserQueue<Waiting>;
  private readonly limits: () => { running: number; waiting: number };
  /** Requests that have given up their place for now. */
  private absent = 0;

  constructor(limits: () => { running: number; waiting: number }) {
    this.limits = limits;
    this.running = new UserPlaces(() => ({ places: limits().running, spare: spareRunning }));
    this.queue = new UserQueue(() => ({ places: limits().waiting, spare: spareWaiting }));
  }

  get queued(): number {
    return this.queue.length;
  }

  /** Whether the request may run without waiting: then the caller must call `leave`. Else it calls `enter`. */
  enterNow(user: string): boolean {
    if (!this.running.mayTake(user)) return false;
    this.running.occupy(user);
    return true;
  }

  /** Resolves with false when the queue is full; rejects with the signal's reason. After true the caller must call `leave`. */
  async enter(user: string, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (this.enterNow(user)) return true;
    if (!this.queue.mayAdd(user)) return false;
    const waiting = { user, slot: deferred<void>() };
    this.queue.add(waiting);
    await whenAdmitted(waiting.slot, signal, () => this.queue.remove(waiting));
    return true;
  }

  /** Whether a running request may give up its place for now. The number of such requests has the same limit as the queue. */
  get mayLeave(): boolean {
    return this.absent < this.limits().waiting;
  }

  /** Like `leave`, for a request that will call `enter` again. The caller must call `endAbsence` once it has a place again, or has ended. */
  leaveForNow(user: string): void {
    this.absent++;
    this.leave(user);
  }

  endAbsence(): void {
    this.absent--;
  }

  leave(user: string): void {
    this.running.release(user);
    const next = this.queue.shiftNext(this.running);
    if (next === undefined) return;
    this.running.occupy(next.user);
    next.slot.resolve();
  }
}

// Limits the concurrent requests: further ones wait in a bounded queue, then they are refused. One user's requests cannot take all
// places, and the user with the fewest running requests is next.
import { type Deferred, deferred } from '#base/deferred.ts';
import { UserPlaces } from '#base/user-places.ts';

interface Waiting {
  readonly user: string;
  readonly slot: Deferred<void>;
}

/** Requests beyond the limit, for users who have none running. */
const spareRunning = 1;
/** Requests beyond a full queue, for users who have none in it. */
const spareWaiting = 64;

export class Admission {
  private readonly running: UserPlaces;
  private readonly queue: UserPlaces;
  private readonly waiting: Waiting[] = [];

  constructor(limits: () => { running: number; waiting: number }) {
    this.running = new UserPlaces(() => ({ places: limits().running, spare: spareRunning }));
    this.queue = new UserPlaces(() => ({ places: limits().waiting, spare: spareWaiting }));
  }

  get queued(): number {
    return this.waiting.length;
  }

  /** Whether the request may run without waiting: then the caller must call `leave`. Else it calls `enter`. */
  enterNow(user: string): boolean {
    if (!this.running.mayTake(user)) return false;
    this.running.take(user);
    return true;
  }

  /** Resolves with false when the queue is full; rejects with the signal's reason. After true the caller must call `leave`. */
  async enter(user: string, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (this.enterNow(user)) return true;
    if (!this.queue.mayTake(user)) return false;
    const waiting = { user, slot: deferred<void>() };
    this.waiting.push(waiting);
    this.queue.take(user);
    const abort = () => {
      const index = this.waiting.indexOf(waiting);
      if (index < 0) return;
      this.remove(index);
      waiting.slot.reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    try {
      await waiting.slot.promise;
      return true;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  leave(user: string): void {
    this.running.leave(user);
    const at = this.running.next(this.waiting);
    if (at < 0) return;
    const { user: next, slot } = this.remove(at);
    this.running.take(next);
    slot.resolve();
  }

  private remove(at: number): Waiting {
    const [waiting] = this.waiting.splice(at, 1) as [Waiting];
    this.queue.leave(waiting.user);
    return waiting;
  }
}

// Long statements are parsed and planned one at a time, in steps, since planning one takes up to tenths of a second. After each statement, other requests
// have the thread for as long as it took. A statement that waits for its turn holds no place of the service, and users take turns.
import { type Deferred, deferred, whenAdmitted } from '#base/deferred.ts';
import { type PlaceLimits, UserPlaces } from '#base/user-places.ts';
import type { Clock } from '#ports/clock.ts';

/** The length in characters from which a statement is long. Shorter ones are planned in a few milliseconds. */
export const longLengthMin = 32 << 10;

export interface PlanningTurn {
  /** Calls `step`, and counts its time. */
  run<T>(step: () => T): T;
  /** Ends the turn: the next one begins when others had the thread for as long as the steps took. */
  end(): void;
}

interface Waiting {
  readonly user: string;
  readonly turn: Deferred<PlanningTurn>;
}

export class LongStatements {
  private readonly clock: Clock;
  private readonly counts: UserPlaces;
  /** By user; the user who had the last turn comes last. */
  private readonly waiting = new Map<string, Waiting[]>();
  private isTaken = false;

  /** `limits`: how many statements may wait for their turn. */
  constructor(clock: Clock, limits: () => PlaceLimits) {
    this.clock = clock;
    this.counts = new UserPlaces(limits);
  }

  get queued(): number {
    return this.counts.total;
  }

  /** Resolves in the turn of this statement, or with null: too many wait. Rejects with the signal's reason if it is aborted before. */
  async enter(user: string, signal: AbortSignal): Promise<PlanningTurn | null> {
    signal.throwIfAborted();
    if (!this.isTaken) return this.beginTurn();
    if (!this.counts.mayTake(user)) return null;
    const waiting = { user, turn: deferred<PlanningTurn>() };
    this.add(waiting);
    return await whenAdmitted(waiting.turn, signal, () => this.remove(waiting));
  }

  private beginTurn(): PlanningTurn {
    this.isTaken = true;
    let isHeld = true;
    let tookMs = 0;
    return {
      run: (step) => {
        const startedMs = this.clock.monotonicMs();
        try {
          return step();
        } finally {
          tookMs += this.clock.monotonicMs() - startedMs;
        }
      },
      end: () => {
        if (isHeld) this.nextAfter(tookMs);
        isHeld = false;
      },
    };
  }

  private nextAfter(tookMs: number): void {
    if (tookMs === 0) this.next();
    else this.clock.after(Math.ceil(tookMs), () => this.next());
  }

  private next(): void {
    this.isTaken = false;
    const [first] = this.waiting.values();
    const waiting = first?.[0];
    if (waiting === undefined) return;
    this.remove(waiting);
    this.putLast(waiting.user);
    waiting.turn.resolve(this.beginTurn());
  }

  private add(waiting: Waiting): void {
    this.counts.occupy(waiting.user);
    this.waiting.set(waiting.user, [...(this.waiting.get(waiting.user) ?? []), waiting]);
  }

  /** Returns false if the statement does not wait. */
  private remove(waiting: Waiting): boolean {
    const { user } = waiting;
    const all = this.waiting.get(user) ?? [];
    const left = all.filter((each) => each !== waiting);
    if (left.length === all.length) return false;
    this.counts.release(user);
    if (left.length > 0) this.waiting.set(user, left);
    else this.waiting.delete(user);
    return true;
  }

  private putLast(user: string): void {
    const left = this.waiting.get(user);
    if (left === undefined) return;
    this.waiting.delete(user);
    this.waiting.set(user, left);
  }
}

// When the shards of a bucket are checked: at each heartbeat, and earlier while requests, commits or a joining copy wait for the result.
import type { Clock, Timer } from '#ports/clock.ts';
import type { ActiveShard } from './active-shard.ts';
import { heartbeatEveryMs } from './peers.ts';

/** The pauses before checks: while requests or commits wait for a shard, and while a copy is about to join a set. */
const pauseMs = { requests: 5, copy: 20 } as const;

export class CheckTimes {
  private readonly clock: Clock;
  private readonly check: () => void;
  private beat: Timer;
  /** The next check, if it comes before the next heartbeat. */
  private soon: { readonly timer: Timer; readonly atMs: number } | null = null;

  constructor(clock: Clock, check: () => void) {
    this.clock = clock;
    this.check = check;
    this.beat = clock.after(heartbeatEveryMs, () => this.beatDue());
  }

  /** Call when something has arrived that a shard waits for: checks after a short pause. */
  readonly due = (): void => this.within(pauseMs.requests);

  /** Call when requests wait for the shard as well: checks at once. */
  readonly dueNow = (): void => this.within(0);

  /** Called after each check. */
  followWaits(actives: Iterable<ActiveShard>): void {
    const waits = new Set([...actives].map((active) => active.waits));
    if (waits.has('requests')) this.within(pauseMs.requests);
    else if (waits.has('copy')) this.within(pauseMs.copy);
  }

  stop(): void {
    this.beat.cancel();
    this.soon?.timer.cancel();
  }

  private within(ms: number): void {
    const { clock } = this;
    const atMs = clock.monotonicMs() + ms;
    if (this.soon !== null && this.soon.atMs <= atMs) return;
    this.soon?.timer.cancel();
    const timer = clock.after(ms, () => {
      this.soon = null;
      this.check();
    });
    this.soon = { timer, atMs };
  }

  private beatDue(): void {
    this.beat = this.clock.after(heartbeatEveryMs, () => this.beatDue());
    this.check();
  }
}

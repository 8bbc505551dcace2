// Divides the work for clients into turns, between which timers and sockets of the data thread run. Tasks that `soon` defers run in order
// of arrival, as many as a turn has time for; the others run in the next turn. The time of requests that run on arrival counts as well.
//
// Reading the clock has a cost, so it is read once per `turnLimits.workBytes` of work. The callers state their work in bytes of requests,
// replies and documents; a piece of work must not exceed that number by much.
import type { Clock, Timer } from '#ports/clock.ts';

export const turnLimits = {
  /** Time of requests and deferred tasks in one turn; afterwards timers and sockets run. */
  turnMs: 3,
  /** Deferred tasks get at least this of a turn, however long the requests that arrived in it took. */
  tasksMs: 1,
  /** Time of one task while others wait. */
  taskMs: 1,
  /** Work between two readings of the clock. */
  workBytes: 64 * 1024,
} as const;

export class TurnClock implements Clock {
  /** The time is over: the caller must continue in another turn. */
  isOver = false;
  private readonly clock: Clock;
  private tasks: (() => void)[] = [];
  /** How many of `tasks` may run in this turn. Tasks that these defer run in the next one. */
  private left = 0;
  private isScheduled = false;
  private workBytes = 0;
  /** Ends of the turn and of the task in it; negative while there is none. */
  private turnUntilMs = -1;
  private taskUntilMs = -1;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  wallMs(): number {
    return this.clock.wallMs();
  }

  monotonicMs(): number {
    return this.clock.monotonicMs();
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.clock.after(delayMs, callback);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return this.clock.sleep(delayMs, signal);
  }

  /** Calls `callback` in a later turn, after the tasks that were deferred earlier. */
  soon(callback: () => void): void {
    this.tasks.push(callback);
    this.schedule();
  }

  /** Counts work that was done; afterwards `isOver` says whether more may be done now. */
  countWork(workBytes: number): void {
    this.workBytes += workBytes;
    if (this.workBytes > turnLimits.workBytes) this.readClock();
  }

  private readClock(): void {
    this.workBytes = 0;
    const nowMs = this.clock.monotonicMs();
    if (this.turnUntilMs < 0) {
      this.turnUntilMs = nowMs + turnLimits.turnMs;
      this.schedule();
    } else this.isOver = nowMs >= this.turnUntilMs || (this.taskUntilMs >= 0 && nowMs >= this.taskUntilMs);
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.clock.soon(() => this.beginTasks());
  }

  private beginTasks(): void {
    const nowMs = this.clock.monotonicMs();
    const { tasksMs, turnMs } = turnLimits;
    this.turnUntilMs = this.turnUntilMs < 0 ? nowMs + turnMs : Math.max(this.turnUntilMs, nowMs + tasksMs);
    this.left = this.tasks.length;
    this.step(nowMs);
  }

  /** Runs the next task. The continuations of promises that it resolves run before the task after it, and so within the time. */
  private step(nowMs: number): void {
    if (this.left === 0 || nowMs >= this.turnUntilMs) {
      this.endTurn();
      return;
    }
    this.left--;
    this.isOver = false;
    this.workBytes = 0;
    this.taskUntilMs = this.left > 0 ? nowMs + turnLimits.taskMs : this.turnUntilMs;
    const task = this.tasks.shift() as () => void;
    try {
      task();
    } finally {
      void Promise.resolve().then(() => this.step(this.clock.monotonicMs()));
    }
  }

  private endTurn(): void {
    this.isScheduled = false;
    this.isOver = false;
    this.workBytes = 0;
    this.turnUntilMs = this.taskUntilMs = -1;
    if (this.tasks.length > 0) this.schedule();
  }
}

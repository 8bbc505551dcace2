// Detects dead clients of change streams: records when the client last accepted bytes and how many NOOPs it left unanswered.

/** After this many unanswered NOOPs in a row the client is considered dead. */
const missedNoopsMax = 2;

/** Counters that change when the client accepts or acknowledges bytes. */
export interface ClientProgress {
  bytesSent: number;
  bytesUnacked: number;
  unsentBytes: number;
}

export class ClientWatch {
  private progressAtMs: number;
  private last: ClientProgress = { bytesSent: 0, bytesUnacked: 0, unsentBytes: 0 };
  private lastNoopMs: number;
  private noopsOpen = 0;
  private noopOpaque = 0;

  constructor(nowMs: number) {
    this.progressAtMs = this.lastNoopMs = nowMs;
  }

  get isAwaitingNoop(): boolean {
    return this.noopsOpen > 0;
  }

  get hasMissedNoops(): boolean {
    return this.noopsOpen >= missedNoopsMax;
  }

  isNoopDue(nowMs: number, intervalMs: number): boolean {
    return nowMs - this.lastNoopMs >= intervalMs;
  }

  /** Returns the opaque of the next NOOP. */
  nextNoop(nowMs: number): number {
    this.lastNoopMs = nowMs;
    this.noopsOpen++;
    return (this.noopOpaque = (this.noopOpaque + 1) >>> 0);
  }

  /** The client responded to a message. */
  answered(): void {
    this.noopsOpen = 0;
  }

  /** Time since the client last accepted or acknowledged bytes. */
  idleMs(nowMs: number, progress: ClientProgress): number {
    const { last } = this;
    const isStill =
      progress.bytesSent === last.bytesSent &&
      progress.bytesUnacked === last.bytesUnacked &&
      progress.unsentBytes === last.unsentBytes;
    if (!isStill) {
      this.last = progress;
      this.progressAtMs = nowMs;
    }
    return nowMs - this.progressAtMs;
  }
}

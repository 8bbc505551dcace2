// Whether the client of change streams is still there: when it last took anything, and which of our questions it has not
// answered.

/** NOOPs in a row that a client may leave unanswered. */
const missedNoops = 2;

/** What has moved so far. */
export interface Movement {
  bytesSent: number;
  bytesUnacked: number;
  unsentBytes: number;
}

export class ClientWatch {
  private movedAtMs: number;
  private last: Movement = { bytesSent: 0, bytesUnacked: 0, unsentBytes: 0 };
  private lastNoopMs: number;
  private noopsOpen = 0;
  private noopOpaque = 0;

  constructor(nowMs: number) {
    this.movedAtMs = this.lastNoopMs = nowMs;
  }

  get isAwaitingNoop(): boolean {
    return this.noopsOpen > 0;
  }

  get hasMissedNoops(): boolean {
    return this.noopsOpen >= missedNoops;
  }

  isNoopDue(nowMs: number, intervalMs: number): boolean {
    return nowMs - this.lastNoopMs >= intervalMs;
  }

  /** The opaque of the NOOP that is sent now. */
  nextNoop(nowMs: number): number {
    this.lastNoopMs = nowMs;
    this.noopsOpen++;
    return (this.noopOpaque = (this.noopOpaque + 1) >>> 0);
  }

  /** The client answered one of our messages. */
  answered(): void {
    this.noopsOpen = 0;
  }

  /** For how long nothing has moved. */
  stillMs(nowMs: number, movement: Movement): number {
    const { last } = this;
    const isStill =
      movement.bytesSent === last.bytesSent &&
      movement.bytesUnacked === last.bytesUnacked &&
      movement.unsentBytes === last.unsentBytes;
    if (!isStill) {
      this.last = movement;
      this.movedAtMs = nowMs;
    }
    return nowMs - this.movedAtMs;
  }
}

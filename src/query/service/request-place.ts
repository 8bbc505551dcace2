// The place of a request among those that run at the same time.
import { sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import type { StatementPlace } from '../data/temporary-failures.ts';
import type { Admission } from '../state/admission.ts';

export class RequestPlace implements StatementPlace {
  private readonly admission: Admission;
  private readonly user: string;
  private readonly signal: AbortSignal;
  private isHeld = true;
  private hasEnded = false;
  /** Reads of the statement that wait for the data service. */
  private waiting = 0;
  private entering: Promise<void> | null = null;

  /** Call once `admission.enter` has given the request its place. */
  constructor(admission: Admission, user: string, signal: AbortSignal) {
    this.admission = admission;
    this.user = user;
    this.signal = signal;
  }

  get mayLeave(): boolean {
    return !this.isHeld || this.admission.mayLeave;
  }

  async without(waiting: () => Promise<void>): Promise<void> {
    this.waiting++;
    if (this.isHeld) this.admission.leaveForNow(this.user);
    this.isHeld = false;
    try {
      await waiting();
    } finally {
      this.waiting--;
    }
    // Another read of the statement may have the place again, or will have it after its own wait.
    if (this.isHeld || this.waiting > 0) return;
    this.entering ??= this.enter().finally(() => {
      this.entering = null;
    });
    await this.entering;
  }

  /** Call when the request has ended. */
  end(): void {
    this.hasEnded = true;
    if (this.isHeld) this.admission.leave(this.user);
    else this.admission.endAbsence();
    this.isHeld = false;
  }

  private async enter(): Promise<void> {
    const { admission, user } = this;
    if (!(await admission.enter(user, this.signal))) throw sqlErrorWith(1182, { isRetryable: true });
    // The request has ended, or another read has begun to wait.
    if (this.hasEnded || this.waiting > 0) admission.leave(user);
    else {
      admission.endAbsence();
      this.isHeld = true;
    }
  }
}

// Counts what a limited user does at the data ports in a minute, over all connections of that user.
import { Status } from '#wire/status.ts';
import type { DataUserLimits } from '../admin.ts';

const minuteMs = 60_000;
const mib = 1 << 20;

export class UserMeter {
  limits: DataUserLimits;
  private minuteStartMs = Number.NEGATIVE_INFINITY;
  private operations = 0;
  private ingressBytes = 0;
  private egressBytes = 0;

  constructor(limits: DataUserLimits) {
    this.limits = limits;
  }

  /** Counts a request, unless a limit is reached. */
  admit(nowMs: number, bytes: number): Status {
    if (nowMs - this.minuteStartMs >= minuteMs) {
      this.minuteStartMs = nowMs;
      this.operations = 0;
      this.ingressBytes = 0;
      this.egressBytes = 0;
    }
    const { operations, ingressMib, egressMib } = this.limits;
    if (this.operations >= operations) return Status.rateLimitedCommands;
    if (this.ingressBytes >= ingressMib * mib) return Status.rateLimitedIngress;
    if (this.egressBytes >= egressMib * mib) return Status.rateLimitedEgress;
    this.operations++;
    this.ingressBytes += bytes;
    return Status.success;
  }

  /** The request just counted was not run: it will be counted when it is. */
  giveBack(bytes: number): void {
    this.operations--;
    this.ingressBytes -= bytes;
  }

  sent(bytes: number): void {
    this.egressBytes += bytes;
  }
}

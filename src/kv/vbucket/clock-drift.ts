// How far CAS values that other nodes made differ from this node's clock: last write wins only among clocks that agree.
import type { DriftFigures } from '../activity.ts';
import type { BucketSpec } from '../admin.ts';
import type { Now } from './now.ts';

const nsPerUs = 1000;
const nsPerMs = 1_000_000;

export class ClockDrift {
  private readonly now: Now;
  private readonly rules: Pick<BucketSpec, 'clockDriftMs'>;
  private us = 0;
  private writes = 0;
  private ahead = 0;
  private behind = 0;

  /** The limits of `rules` may change meanwhile. */
  constructor(now: Now, rules: Pick<BucketSpec, 'clockDriftMs'>) {
    this.now = now;
    this.rules = rules;
  }

  /** Counts a write with this CAS, which is a time in nanoseconds. */
  note(casHi: number, casLo: number): void {
    const { now } = this;
    const { ahead, behind } = this.rules.clockDriftMs;
    const ns = (casHi - now.casHi) * 2 ** 32 + (casLo - now.casLo);
    this.us += Math.abs(ns) / nsPerUs;
    this.writes++;
    if (ns > ahead * nsPerMs) this.ahead++;
    else if (-ns > behind * nsPerMs) this.behind++;
  }

  figures(): DriftFigures {
    const { ahead, behind, us, writes } = this;
    return { us: Math.round(us), writes, ahead, behind };
  }
}

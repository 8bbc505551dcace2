// Shares reports of the data service between readers of figures, so that many readers cause few messages to the data thread. A report is
// shared until the data service answers a client, so that no reader gets figures older than what clients know.
import type { Clock } from '#ports/clock.ts';

/** A report is shared for this time at most, so that changes which no client causes (commits, expiry, evictions) are shown soon. */
const sharedMsMax = 20;

export interface SharedReportsOptions {
  /** Takes a report of all buckets, or of one. Does not reject. */
  requestReport(bucketUuid: string | undefined): Promise<void>;
  /** A count that rises before each answer to a client. */
  activityCount(): number;
  clock: Clock;
}

interface Run {
  readonly done: Promise<void>;
  /** The activity count when the report was requested. */
  readonly activityCount: number;
  readonly atMs: number;
  isRunning: boolean;
  /** The report after this one, which serves all requests that arrive meanwhile. */
  next: Promise<void> | null;
}

/** The key of the reports of all buckets, in place of a uuid. */
const allBuckets = '';

export class SharedReports {
  readonly #options: SharedReportsOptions;
  /** By uuid of the bucket: its newest report since the last `forget`. */
  readonly #runs = new Map<string, Run>();

  constructor(options: SharedReportsOptions) {
    this.#options = options;
  }

  /** Null: the newest report shows all that a client can know. Otherwise resolves when such a report was taken. */
  read(bucketUuid?: string): Promise<void> | null {
    const shared = [allBuckets, bucketUuid ?? allBuckets]
      .map((uuid) => this.#runs.get(uuid))
      .find((run) => run !== undefined && this.#isCurrent(run));
    if (shared !== undefined) return shared.isRunning ? shared.done : null;
    const run = this.#runs.get(bucketUuid ?? allBuckets);
    if (run?.isRunning !== true) return this.#begin(bucketUuid).done;
    run.next ??= run.done.then(() => this.#begin(bucketUuid).done);
    return run.next;
  }

  /** Earlier reports are not shared any more: what they show has changed. */
  forget(): void {
    this.#runs.clear();
  }

  #begin(bucketUuid: string | undefined): Run {
    const { requestReport, activityCount, clock } = this.#options;
    const start = { activityCount: activityCount(), atMs: clock.monotonicMs() };
    const done = requestReport(bucketUuid).finally(() => {
      run.isRunning = false;
    });
    const run: Run = { ...start, done, isRunning: true, next: null };
    this.#runs.set(bucketUuid ?? allBuckets, run);
    return run;
  }

  #isCurrent({ activityCount, atMs }: Run): boolean {
    const { clock, activityCount: now } = this.#options;
    return activityCount === now() && clock.monotonicMs() - atMs < sharedMsMax;
  }
}

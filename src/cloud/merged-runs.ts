// Coalesces requests for the same work: per key one run is in progress and at most one is queued, which serves all later requests.
interface Runs {
  current: Promise<void>;
  /** Starts when the current run ends. */
  next: Promise<void> | null;
}

export class MergedRuns {
  private readonly runs = new Map<string, Runs>();

  /** Resolves or rejects with a run that began after this call. */
  run(key: string, work: () => Promise<void>): Promise<void> {
    const existing = this.runs.get(key);
    if (existing === undefined) return this.begin(key, work);
    existing.next ??= existing.current.then(
      () => this.begin(key, work),
      () => this.begin(key, work),
    );
    return existing.next;
  }

  private begin(key: string, work: () => Promise<void>): Promise<void> {
    const current = work();
    const runs: Runs = { current, next: null };
    this.runs.set(key, runs);
    const discard = (): void => {
      if (runs.next === null) this.runs.delete(key);
    };
    current.then(discard, discard);
    return current;
  }
}

// What one replication counts, under the published names.

export class ReplicationCounts {
  readonly byName: Record<string, number> = {};
  private readonly latencies = new Map<string, number[]>();

  add(name: string, count = 1): void {
    this.byName[name] = (this.byName[name] ?? 0) + count;
  }

  get(name: string): number {
    return this.byName[name] ?? 0;
  }

  /** Records a duration; reports state the mean of the last ones. */
  time(name: string, ms: number): void {
    const times = this.latencies.get(name) ?? [];
    times.push(ms);
    if (times.length > timesMax) times.shift();
    this.latencies.set(name, times);
  }

  means(): Record<string, number> {
    const mean = (times: readonly number[]) => times.reduce((sum, ms) => sum + ms, 0) / times.length;
    return Object.fromEntries([...this.latencies].map(([name, times]) => [name, mean(times)]));
  }

  discardTimes(): void {
    this.latencies.clear();
  }
}

const timesMax = 100;

/** The published counter names of an event by the kind of change, such as `set_docs_written`. */
export const countersOf = (what: string) =>
  ({ mutation: `set_${what}`, deletion: `deletion_${what}`, expiration: `expiry_${what}` }) as const;

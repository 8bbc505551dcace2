// Replications of a node compete for its XDCR thread. While one of a higher priority is late, those below it have fewer documents in flight.
import { type Priority, priorities } from '../xdcr.contract.ts';

/** The share of the documents that a connection may have in flight, while a replication of a higher priority is late. */
const shares: Readonly<Record<Priority, number>> = { High: 1, Medium: 1 / 4, Low: 1 / 16 };

export interface Competitor {
  readonly priority: Priority;
  /** Whether documents of the replication wait for longer than its `desiredLatency`. */
  readonly isLate: () => boolean;
}

export class PriorityShares {
  private readonly competitors = new Set<Competitor>();

  add(competitor: Competitor): void {
    this.competitors.add(competitor);
  }

  remove(competitor: Competitor): void {
    this.competitors.delete(competitor);
  }

  shareOf(priority: Priority): number {
    if (priority === 'High' || this.competitors.size < 2) return 1;
    const rank = priorities.indexOf(priority);
    for (const other of this.competitors)
      if (priorities.indexOf(other.priority) < rank && other.isLate()) return shares[priority];
    return 1;
  }
}

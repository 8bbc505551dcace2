// Counts client operations in a bucket by collection. The bucket's own figures are the sums.
import { addCounts, type DocumentCounts, noCounts } from '../activity.ts';
import type { Collections } from './collections.ts';

export class Tally {
  /** Operations in collections that were dropped: sums never fall. */
  private readonly dropped = noCounts();
  private readonly byCollection = new Map<number, DocumentCounts>();
  private lastId = -1;
  private last = this.dropped;

  /** The counters of a collection, which must exist. */
  countsOf(collection: number): DocumentCounts {
    if (collection === this.lastId) return this.last;
    let counts = this.byCollection.get(collection);
    if (!counts) {
      counts = noCounts();
      this.byCollection.set(collection, counts);
    }
    this.lastId = collection;
    this.last = counts;
    return counts;
  }

  /** Adds the counts of collections that no longer exist to those of dropped ones. */
  keepOnly(collections: Collections): void {
    for (const [id, counts] of this.byCollection) {
      if (collections.get(id)) continue;
      addCounts(this.dropped, counts);
      this.byCollection.delete(id);
    }
    this.lastId = -1;
  }

  total(): DocumentCounts {
    const sum = { ...this.dropped };
    for (const counts of this.byCollection.values()) addCounts(sum, counts);
    return sum;
  }

  /** By id in lower-case hex. */
  collections(): Record<string, DocumentCounts> {
    return Object.fromEntries([...this.byCollection].map(([id, counts]) => [id.toString(16), { ...counts }]));
  }
}

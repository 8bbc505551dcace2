// Counts the operations of clients in a bucket by collection. The bucket's own figures are the sums.
import { addCounts, type DocumentCounts, noCounts } from '../document-counts.ts';
import type { Collections } from './collections.ts';

export class CollectionCounts {
  /** Operations in collections that were dropped: sums never fall. */
  private readonly dropped = noCounts();
  private readonly byCollection = new Map<number, DocumentCounts>();
  /** By collection: how many documents other threads have found in memory since `addThreadHits`. The counts are shared memory. */
  private readonly threadHits = new Map<number, Int32Array>();
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

  /** The number that other threads raise with each document of the collection that they find in memory. */
  threadHitsOf(collection: number): Int32Array {
    const known = this.threadHits.get(collection);
    const hits = known ?? new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    this.threadHits.set(collection, hits);
    return hits;
  }

  /** Adds the counts of collections that no longer exist to those of dropped ones. */
  keepOnly(collections: Collections): void {
    this.addThreadHits();
    for (const id of [...this.threadHits.keys()]) if (!collections.get(id)) this.threadHits.delete(id);
    for (const [id, counts] of this.byCollection) {
      if (collections.get(id)) continue;
      addCounts(this.dropped, counts);
      this.byCollection.delete(id);
    }
    this.lastId = -1;
  }

  total(): DocumentCounts {
    this.addThreadHits();
    const sum = { ...this.dropped };
    for (const counts of this.byCollection.values()) addCounts(sum, counts);
    return sum;
  }

  /** By id in lower-case hex. */
  collections(): Record<string, DocumentCounts> {
    this.addThreadHits();
    return Object.fromEntries([...this.byCollection].map(([id, counts]) => [id.toString(16), { ...counts }]));
  }

  private addThreadHits(): void {
    for (const [collection, hits] of this.threadHits) {
      const taken = Atomics.exchange(hits, 0, 0);
      if (taken === 0) continue;
      const counts = this.countsOf(collection);
      counts.gets += taken;
      counts.getHits += taken;
    }
  }
}

// Caches values per snapshot of the store. The values of an outdated snapshot are dropped with it, so that no value is ever stale.
import type { StoreSnapshot } from './state.ts';

export interface SnapshotCacheOptions<V> {
  /** The maximum number of values of one snapshot; the oldest are evicted first. */
  readonly entriesMax: number;
  /** The maximum size of all values of one snapshot; a value above a tenth of it is not cached. */
  readonly bytesMax: number;
  readonly bytesOf: (value: V) => number;
}

/** Approximate overhead per entry. */
const entryBytes = 200;

interface SnapshotEntries<V> {
  readonly values: Map<string, V>;
  readonly pending: Map<string, Promise<V>>;
  bytes: number;
}

export class SnapshotCache<V> {
  private readonly options: SnapshotCacheOptions<V>;
  private readonly snapshots = new WeakMap<StoreSnapshot, SnapshotEntries<V>>();

  constructor(options: SnapshotCacheOptions<V>) {
    this.options = options;
  }

  find(snapshot: StoreSnapshot, key: string): V | undefined {
    return this.snapshots.get(snapshot)?.values.get(key);
  }

  /** Computes a value once for all concurrent callers. A failure is passed to all of them and not cached. */
  async getOrCompute(snapshot: StoreSnapshot, key: string, compute: () => Promise<V>): Promise<V> {
    const { values, pending } = this.in(snapshot);
    const cached = values.get(key);
    if (cached !== undefined) return cached;
    const others = pending.get(key);
    if (others !== undefined) return others;
    const computing = compute();
    pending.set(key, computing);
    try {
      const value = await computing;
      this.store(snapshot, key, value);
      return value;
    } finally {
      pending.delete(key);
    }
  }

  private in(snapshot: StoreSnapshot): SnapshotEntries<V> {
    const existing = this.snapshots.get(snapshot);
    if (existing !== undefined) return existing;
    const created: SnapshotEntries<V> = { values: new Map(), pending: new Map(), bytes: 0 };
    this.snapshots.set(snapshot, created);
    return created;
  }

  private store(snapshot: StoreSnapshot, key: string, value: V): void {
    const { entriesMax, bytesMax } = this.options;
    const bytes = this.bytesOf(key, value);
    if (bytes > bytesMax / 10) return;
    const all = this.in(snapshot);
    all.values.set(key, value);
    all.bytes += bytes;
    for (const [oldest, its] of all.values) {
      if (all.values.size <= entriesMax && all.bytes <= bytesMax) return;
      all.values.delete(oldest);
      all.bytes -= this.bytesOf(oldest, its);
    }
  }

  private bytesOf(key: string, value: V): number {
    return key.length + this.options.bytesOf(value) + entryBytes;
  }
}

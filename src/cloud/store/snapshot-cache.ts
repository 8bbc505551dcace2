// What was found out in a snapshot of the store, for all who ask in the same one. A snapshot that is over takes all of it along, so
// that nothing here is ever out of date.
import type { StoreSnapshot } from './state.ts';

export interface SnapshotCacheOptions<V> {
  /** How many values of one snapshot; those that came first go first. */
  readonly entriesMax: number;
  /** Of all values of one snapshot; a value that takes more than a tenth is not kept. */
  readonly bytesMax: number;
  readonly bytesOf: (value: V) => number;
}

/** Beside the value itself, roughly. */
const entryBytes = 200;

interface SnapshotEntries<V> {
  readonly values: Map<string, V>;
  readonly underWay: Map<string, Promise<V>>;
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

  /** Finds a value out once for all who ask meanwhile. A failure is theirs and is not kept. */
  async of(snapshot: StoreSnapshot, key: string, findOut: () => Promise<V>): Promise<V> {
    const { values, underWay } = this.in(snapshot);
    const known = values.get(key);
    if (known !== undefined) return known;
    const others = underWay.get(key);
    if (others !== undefined) return others;
    const own = findOut();
    underWay.set(key, own);
    try {
      const value = await own;
      this.keep(snapshot, key, value);
      return value;
    } finally {
      underWay.delete(key);
    }
  }

  private in(snapshot: StoreSnapshot): SnapshotEntries<V> {
    const known = this.snapshots.get(snapshot);
    if (known !== undefined) return known;
    const made: SnapshotEntries<V> = { values: new Map(), underWay: new Map(), bytes: 0 };
    this.snapshots.set(snapshot, made);
    return made;
  }

  private keep(snapshot: StoreSnapshot, key: string, value: V): void {
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

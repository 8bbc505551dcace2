// Caches values per version of the store. The values of an outdated version are dropped with it, so that no value is ever stale.
import type { StoreVersion } from './state.ts';

export interface VersionedCacheOptions<V> {
  /** The maximum number of values of one version; the oldest are evicted first. */
  readonly entriesMax: number;
  /** The maximum size of all values of one version; a value above a tenth of it is not cached. */
  readonly bytesMax: number;
  readonly bytesOf: (value: V) => number;
}

/** Approximate overhead per entry. */
const entryBytes = 200;

interface VersionEntries<V> {
  readonly values: Map<string, V>;
  readonly pending: Map<string, Promise<V>>;
  bytes: number;
}

export class VersionedCache<V> {
  private readonly options: VersionedCacheOptions<V>;
  private readonly versions = new WeakMap<StoreVersion, VersionEntries<V>>();

  constructor(options: VersionedCacheOptions<V>) {
    this.options = options;
  }

  find(version: StoreVersion, key: string): V | undefined {
    return this.versions.get(version)?.values.get(key);
  }

  /** Computes a value once for all concurrent callers. A failure is passed to all of them and not cached. */
  async getOrCompute(version: StoreVersion, key: string, compute: () => Promise<V>): Promise<V> {
    const { values, pending } = this.in(version);
    const cached = values.get(key);
    if (cached !== undefined) return cached;
    const others = pending.get(key);
    if (others !== undefined) return others;
    const computing = compute();
    pending.set(key, computing);
    try {
      const value = await computing;
      this.store(version, key, value);
      return value;
    } finally {
      pending.delete(key);
    }
  }

  private in(version: StoreVersion): VersionEntries<V> {
    const existing = this.versions.get(version);
    if (existing !== undefined) return existing;
    const created: VersionEntries<V> = { values: new Map(), pending: new Map(), bytes: 0 };
    this.versions.set(version, created);
    return created;
  }

  private store(version: StoreVersion, key: string, value: V): void {
    const { entriesMax, bytesMax } = this.options;
    const bytes = this.bytesOf(key, value);
    if (bytes > bytesMax / 10) return;
    const all = this.in(version);
    all.values.set(key, value);
    all.bytes += bytes;
    for (const [oldest, evicted] of all.values) {
      if (all.values.size <= entriesMax && all.bytes <= bytesMax) return;
      all.values.delete(oldest);
      all.bytes -= this.bytesOf(oldest, evicted);
    }
  }

  private bytesOf(key: string, value: V): number {
    return key.length + this.options.bytesOf(value) + entryBytes;
  }
}

// The cluster configuration: revisioned keys with compare-and-set. One invariant lives in one key. Reads may be stale on
// a distributed engine: only a successful compare-and-set proves anything. Watches are level-triggered: a watcher is told
// that a key changed and sees its newest value; values in between may be missed.

export interface Entry<T = unknown> {
  readonly key: string;
  readonly value: T;
  /** Grows with every change of the store; 0 = the key does not exist. */
  readonly revision: number;
}

export interface ChangeOptions {
  /** The change lets space on the disk be freed: when that is full, room held back for such changes serves it. */
  freesSpace?: boolean;
}

export interface ConfigStore {
  get<T>(key: string): Promise<Entry<T> | null>;
  list<T>(prefix: string): Promise<Entry<T>[]>;
  /** Writes if the key is at `expectedRevision` (0: absent). Answers the new revision, or null when another was first. */
  put<T>(key: string, value: T, expectedRevision: number, options?: ChangeOptions): Promise<number | null>;
  /** A deletion frees space. */
  delete(key: string, expectedRevision: number): Promise<boolean>;
  /** Calls `changed` with every existing entry under the prefix, then after each change (`null` value: deleted). */
  watch(prefix: string, changed: (key: string, entry: Entry | null) => void): Promise<{ stop(): void }>;
  /** Revision of the newest change in the store. */
  revision(): number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Reads, changes and writes one key until no other writer is in between. `change` answers the new value, or throws to leave it. */
export async function update<T>(
  store: ConfigStore,
  key: string,
  initial: T,
  change: (value: T) => T,
  options?: ChangeOptions,
): Promise<{ value: T; revision: number }> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const entry = await store.get<T>(key);
    const value = change(entry?.value ?? initial);
    const revision = await store.put(key, value, entry?.revision ?? 0, options);
    if (revision !== null) return { value, revision };
  }
  throw new Error(`configuration key ${key}: too many concurrent writers`);
}

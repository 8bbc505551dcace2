// The cluster configuration: revisioned keys with compare-and-set. One invariant lives in one key. Reads may be stale on
// a distributed engine: only a successful compare-and-set proves anything. Watches are level-triggered: a watcher receives
// the newest value of a changed key and may miss values in between.

export interface Entry<T = unknown> {
  readonly key: string;
  readonly value: T;
  /** Grows with every change of the store; 0 = the key does not exist. */
  readonly revision: number;
}

export interface ChangeOptions {
  /** The change leads to freed disk space: on a full disk it may use the reserve. */
  freesSpace?: boolean;
}

export interface ConfigStore {
  get<T>(key: string): Promise<Entry<T> | null>;
  list<T>(prefix: string): Promise<Entry<T>[]>;
  /** Writes if the key is at `expectedRevision` (0: absent). Resolves with the new revision, or null if another write came first. */
  put<T>(key: string, value: T, expectedRevision: number, options?: ChangeOptions): Promise<number | null>;
  /** Deletes if the key is at `expectedRevision`. On a full disk it may use the reserve. */
  delete(key: string, expectedRevision: number): Promise<boolean>;
  /** Calls `changed` with every existing entry under the prefix, then after each change (`null` value: deleted). */
  watch(prefix: string, changed: (key: string, entry: Entry | null) => void): Promise<{ stop(): void }>;
  /** The revision of the newest change in the store. */
  revision(): number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Reads, changes and writes one key, retrying after concurrent writes. `change` returns the new value, or throws to abort. */
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

// The cluster configuration: revisioned keys with compare-and-set. Everything that one invariant concerns is in one key. Reads may be stale on
// a distributed engine: only a successful compare-and-set proves anything. Watches are level-triggered: a watcher receives
// the newest value of a changed key and may miss values in between.

import { UnavailableError } from '#base/unavailable-error.ts';
import { type Clock, realClock } from '#ports/clock.ts';
import { fraction, type Random, realRandom } from '#ports/random.ts';

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

/**
 * The store as the cluster manager uses it. Values are plain JSON data.
 *
 *     const { value, revision } = await update(store, 'settings/alerts', fresh, (now) => ({ ...now, enabled: true }));
 *     const watching = await store.watch('settings/', (key, entry) => apply(key, entry?.value ?? fresh));
 *     watching.stop();
 */
export interface ConfigStore {
  /**
   * Null if the key does not exist.
   * @throws Error when the stored entry is damaged.
   */
  get<T>(key: string): Promise<Entry<T> | null>;
  /**
   * All entries whose key begins with the prefix, in order of their keys.
   * @throws Error when one of them is damaged.
   */
  list<T>(prefix: string): Promise<Entry<T>[]>;
  /**
   * Writes if the key is at `expectedRevision` (0: absent). Resolves with the new revision after the write is on disk and watchers have been
   * called with this change, or a later one of the key; or with null if another write came first: then this write is never made.
   * @throws UnwritableError with the reason, when the store cannot be written: `isUnchanged` and its text say whether the change may be
   * lost. An UnavailableError is temporary: no server of the store can be reached.
   */
  put<T>(key: string, value: T, expectedRevision: number, options?: ChangeOptions): Promise<number | null>;
  /**
   * Deletes if the key is at `expectedRevision`, and resolves with whether it did. On a full disk it may use the reserve.
   * @throws UnwritableError as `put`.
   */
  delete(key: string, expectedRevision: number): Promise<boolean>;
  /** Calls `changed` with every existing entry under the prefix, then after each change (a null entry: deleted). `changed` must not throw. */
  watch(prefix: string, changed: (key: string, entry: Entry | null) => void): Promise<{ stop(): void }>;
  /** The revision of the newest change in the store. */
  revision(): number;
  /** Why the store, which other servers hold, cannot be changed now; null or absent: it can be changed. */
  readonly problem?: string | null;
  /** Resolves once the store makes changes again; null or absent: it makes them at once. @throws UnavailableError after a time limit */
  untilReleased?(): Promise<void> | null;
  /** The clock and random numbers of a simulation; absent: the real ones. */
  readonly ports?: { readonly clock: Clock; readonly random: Random };
  [Symbol.asyncDispose](): Promise<void>;
}

/** Limit of the attempts of one update while other writers come first. */
const updateDeadlineMs = 10_000;
const firstPauseMs = 2;
const pauseMaxMs = 250;

/**
 * Reads, changes and writes one key; when another writer comes first, tries again with the newest value after a growing pause of random
 * length, up to a deadline. `change` returns the new value.
 * @throws what `change` throws; UnwritableError as `put`, and when other writers came first until the deadline.
 */
export async function update<T>(
  store: ConfigStore,
  key: string,
  initial: T,
  change: (value: T) => T,
  options?: ChangeOptions,
): Promise<{ value: T; revision: number }> {
  const { clock, random } = store.ports ?? { clock: realClock, random: realRandom };
  const untilMs = clock.monotonicMs() + updateDeadlineMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
    const entry = await store.get<T>(key);
    const value = change(entry?.value ?? initial);
    const revision = await store.put(key, value, entry?.revision ?? 0, options);
    if (revision !== null) return { value, revision };
    if (clock.monotonicMs() + pauseMs > untilMs) throw tooManyWriters(key);
    await clock.sleep(pauseMs * fraction(random));
  }
}

const tooManyWriters = (key: string): UnavailableError =>
  new UnavailableError(
    `Nothing was changed: other writers changed the configuration key "${key}" first for ${updateDeadlineMs / 1000} seconds; try again.`,
    { isUnchanged: true },
  );

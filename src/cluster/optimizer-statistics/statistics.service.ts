// Statistics of collections for the query planner, in the configuration. Those of deleted collections are removed.
import type {
  StatisticsChange,
  StatisticsOutcome,
  StatisticsStore,
  StoredStatistics,
} from '#query/query.contract.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { WatchedKeys } from '../config/watched-keys.ts';
import {
  noStatistics,
  partsOfKey,
  type StatisticsState,
  statisticsKey,
  statisticsPrefix,
} from './statistics-state.ts';

export const statisticsLimits = {
  /** Expressions of one collection. */
  expressions: 64,
  /** Bytes of the JSON text of one collection, and of all: every query thread has all of them in memory. */
  collectionBytes: 512 << 10,
  bytes: 4 << 20,
} as const;

/** Ends a change before it is written. */
class RefusedStatisticsError extends Error {}

export class StatisticsService implements StatisticsStore {
  readonly #store: ConfigStore;
  readonly #view: ClusterView;
  readonly #byKey = new Map<string, StatisticsState>();
  readonly #keys: WatchedKeys;

  constructor({ store, view }: { store: ConfigStore; view: ClusterView }) {
    this.#store = store;
    this.#view = view;
    this.#keys = new WatchedKeys(store, statisticsPrefix, (key, entry) => {
      if (entry === null) this.#byKey.delete(key);
      else this.#byKey.set(key, entry.value as StatisticsState);
    });
  }

  start(): Promise<void> {
    return this.#keys.start();
  }

  stop(): void {
    this.#keys.stop();
  }

  all(): readonly StoredStatistics[] {
    return [...this.#byKey]
      .filter(([key, { expressions }]) => expressions.length > 0 && this.#exists(key))
      .map(([key, { expressions }]) => {
        const { bucketUuid, collectionUid } = partsOfKey(key);
        return { bucketUuid, collectionId: Number.parseInt(collectionUid, 16), expressions };
      });
  }

  onChange(changed: () => void): { stop(): void } {
    return this.#keys.onChange(changed);
  }

  async change(change: StatisticsChange): Promise<StatisticsOutcome> {
    const key = statisticsKey(change.bucketUuid, change.collectionId);
    if (!this.#exists(key)) return { refused: 'the collection does not exist any more' };
    await this.#removeOfDeleted();
    if (change.kind === 'delete' && !this.#byKey.has(key)) return 'done';
    try {
      await update(this.#store, key, noStatistics, (before) => {
        const after = { ...before, expressions: changed(before.expressions, change) };
        const problem = change.kind === 'store' ? this.#problemOf(key, after) : null;
        if (problem !== null) throw new RefusedStatisticsError(problem);
        return after;
      });
    } catch (error) {
      if (error instanceof RefusedStatisticsError) return { refused: error.message };
      throw error;
    }
    return 'done';
  }

  #problemOf(key: string, state: StatisticsState): string | null {
    const { expressions, collectionBytes, bytes } = statisticsLimits;
    if (state.expressions.length > expressions)
      return `a collection has statistics of at most ${expressions} expressions`;
    const size = sizeOf(state);
    const advice = `a larger "resolution" makes them smaller`;
    if (size > collectionBytes)
      return `the statistics of a collection take at most ${collectionBytes} bytes, and these take ${size}; ${advice}`;
    let total = size;
    for (const [other, present] of this.#byKey) if (other !== key) total += sizeOf(present);
    if (total <= bytes) return null;
    return `the statistics of all collections take at most ${bytes} bytes, and would take ${total}; ${advice}`;
  }

  async #removeOfDeleted(): Promise<void> {
    for (const { key, revision } of await this.#store.list(statisticsPrefix))
      if (!this.#exists(key)) await this.#store.delete(key, revision);
  }

  #exists(key: string): boolean {
    const { bucketUuid, collectionUid } = partsOfKey(key);
    if (this.#view.buckets.byUuid[bucketUuid]?.state !== 'ready') return false;
    const { scopes } = this.#view.manifest(bucketUuid);
    return scopes.some(({ collections }) => collections.some(({ uid }) => uid === collectionUid));
  }
}

function changed(
  before: StatisticsState['expressions'],
  change: StatisticsChange,
): StatisticsState['expressions'] {
  const names =
    change.kind === 'store' ? change.expressions.map(({ expression }) => expression) : change.expressions;
  const others = before.filter(({ expression }) => names !== null && !names.includes(expression));
  return change.kind === 'store' ? [...others, ...change.expressions] : others;
}

const sizeOf = (state: StatisticsState): number => Buffer.byteLength(JSON.stringify(state));

// The records of the configuration store as this node last received them. A state that a server returns later is refused if it is older.
import type { Entry } from '../config-store.ts';
import type { ConfigLink, StoredRecord, StoreHead } from './config-link.ts';

export class MirrorRecords {
  readonly #byKey = new Map<string, StoredRecord>();
  /** Revision of the newest change that this node has received, in this process or an earlier one. */
  revision: number;

  constructor(revision: number) {
    this.revision = revision;
  }

  get(key: string): StoredRecord | undefined {
    return this.#byKey.get(key);
  }

  /** In order of their keys, without those that were deleted. */
  list(prefix: string): StoredRecord[] {
    const found = [...this.#byKey.values()].filter(
      ({ key, json }) => json !== null && key.startsWith(prefix),
    );
    return found.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Stores the record and returns the one that it replaces, undefined if there is none. Null: this change or a later one of the key is stored already, and nothing changes. */
  apply(record: StoredRecord): StoredRecord | undefined | null {
    const before = this.#byKey.get(record.key);
    if ((before?.revision ?? 0) >= record.revision) return null;
    this.#byKey.set(record.key, record);
    this.revision = Math.max(this.revision, record.revision);
    return before;
  }

  /** Removes a deleted key that the servers no longer store. */
  discard(key: string): void {
    this.#byKey.delete(key);
  }

  /**
   * Makes this mirror accept the whole state of a founder that took over: adds to the state a deletion of each key that it lacks, and removes
   * the mirror's records that would count as newer.
   */
  prepareFor(state: Map<string, StoredRecord>, revision: number): void {
    for (const { key } of this.missingFrom(state))
      state.set(key, { key, json: null, revision, writes: null });
    for (const { key, revision: newRevision } of state.values())
      if ((this.#byKey.get(key)?.revision ?? 0) >= newRevision) this.#byKey.delete(key);
    this.revision = revision;
  }

  /**
   * Adds to a state that the servers returned the deletions of keys that they no longer store.
   * @throws OlderStoreError when that state is older than this mirror, or has another history.
   */
  async complete(
    state: Map<string, StoredRecord>,
    head: StoreHead,
    { keepsDeletions, read }: Pick<ConfigLink, 'keepsDeletions' | 'read'>,
  ): Promise<void> {
    for (const record of this.missingFrom(state)) {
      // A key is deleted at a later revision than that of its record. A record with at least the revision of the store's head was therefore not deleted.
      if (!keepsDeletions && (record.json === null || record.revision < head.revision)) {
        const revision = Math.max(record.revision, head.revision);
        state.set(record.key, { key: record.key, json: null, revision, writes: null });
        continue;
      }
      const found = await read(record.key);
      if (state.has(record.key) || found !== null) continue;
      if (record.json !== null) throw new OlderStoreError(`"${record.key}" is missing`);
      this.discard(record.key);
    }
    this.#checkNotOlder(state);
  }

  /** Records that the given state of the store does not contain. */
  missingFrom(state: ReadonlyMap<string, StoredRecord>): StoredRecord[] {
    return [...this.#byKey.values()].filter(({ key }) => !state.has(key));
  }

  #checkNotOlder(state: ReadonlyMap<string, StoredRecord>): void {
    for (const record of state.values()) {
      const existing = this.#byKey.get(record.key);
      if (existing === undefined || existing.revision < record.revision) continue;
      if (existing.revision > record.revision)
        throw new OlderStoreError(
          `"${record.key}" is at ${record.revision}, and was at ${existing.revision}`,
        );
      if (existing.json !== record.json)
        throw new OlderStoreError(
          `"${record.key}" has another value than before at revision ${record.revision}`,
        );
    }
  }
}

export class OlderStoreError extends Error {
  override readonly name = 'OlderStoreError';

  constructor(detail: string) {
    super(`the store went back to an older state, or a server that is behind answers: ${detail}`);
  }
}

/** Parses again, so that callers cannot change each other's values. */
export function entryOf<T>(record: StoredRecord | undefined): Entry<T> | null {
  if (record === undefined || record.json === null) return null;
  return { key: record.key, value: JSON.parse(record.json) as T, revision: record.revision };
}

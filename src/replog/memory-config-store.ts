// An in-memory configuration store for tests and simulations.
import type { ConfigStore, Entry } from './config-store.ts';
import { WatchList } from './watch-list.ts';

interface MemoryBackup {
  readonly revision: number;
  readonly entries: ReadonlyMap<string, { json: string; revision: number }>;
}

export class MemoryConfigStore implements ConfigStore {
  #entries = new Map<string, { json: string; revision: number }>();
  #revision = 0;
  #watchers = new WatchList();

  async get<T>(key: string): Promise<Entry<T> | null> {
    return this.#read<T>(key);
  }

  async list<T>(prefix: string): Promise<Entry<T>[]> {
    return this.#list<T>(prefix);
  }

  #list<T>(prefix: string): Entry<T>[] {
    const keys = [...this.#entries.keys()].filter((key) => key.startsWith(prefix)).sort();
    return keys.map((key) => this.#read<T>(key) as Entry<T>);
  }

  async put<T>(key: string, value: T, expectedRevision: number): Promise<number | null> {
    if (this.#revisionOf(key) !== expectedRevision) return null;
    const revision = ++this.#revision;
    this.#entries.set(key, { json: JSON.stringify(value), revision });
    this.#watchers.notify(key, this.#read(key));
    return revision;
  }

  async delete(key: string, expectedRevision: number): Promise<boolean> {
    if (expectedRevision === 0 || this.#revisionOf(key) !== expectedRevision) return false;
    this.#revision++;
    this.#entries.delete(key);
    this.#watchers.notify(key, null);
    return true;
  }

  async watch(prefix: string, changed: (key: string, entry: Entry | null) => void) {
    for (const entry of this.#list(prefix)) changed(entry.key, entry);
    return this.#watchers.add(prefix, changed);
  }

  revision(): number {
    return this.#revision;
  }

  /** The whole state, for `restore`. */
  backup(): MemoryBackup {
    return { revision: this.#revision, entries: new Map(this.#entries) };
  }

  /** Goes back to an older state without notifying the watchers, as a server does whose disk was replaced. */
  restore({ revision, entries }: MemoryBackup): void {
    this.#revision = revision;
    this.#entries = new Map(entries);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watchers.clear();
  }

  #revisionOf(key: string): number {
    return this.#entries.get(key)?.revision ?? 0;
  }

  /** Copies the value, as a read from disk would, so that callers cannot change each other's values. */
  #read<T>(key: string): Entry<T> | null {
    const entry = this.#entries.get(key);
    return entry ? { key, value: JSON.parse(entry.json) as T, revision: entry.revision } : null;
  }
}

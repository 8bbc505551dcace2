import type { Entry } from './config-store.ts';

type Changed = (key: string, entry: Entry | null) => void;

/** The watchers of one configuration store in this process, each with a prefix of keys. */
export class WatchList {
  #watchers = new Set<{ prefix: string; changed: Changed }>();

  add(prefix: string, changed: Changed): { stop(): void } {
    const watcher = { prefix, changed };
    this.#watchers.add(watcher);
    return { stop: () => void this.#watchers.delete(watcher) };
  }

  notify(key: string, entry: Entry | null): void {
    for (const watcher of [...this.#watchers]) {
      const isWatching = this.#watchers.has(watcher); // another watcher may have stopped it
      if (isWatching && key.startsWith(watcher.prefix)) watcher.changed(key, entry);
    }
  }

  clear(): void {
    this.#watchers.clear();
  }
}

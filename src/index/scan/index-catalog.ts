// The indexes and their states in a query thread: the newest snapshot from the main thread.
import type { IndexDefinition, IndexStatus } from '#sqlpp/datastore/indexes.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import type { IndexReport } from '../index.contract.ts';
import { IndexProgress } from '../index-progress.ts';

export interface CatalogedIndex {
  readonly definition: IndexDefinition;
  /** Undefined until the index service has reported it. */
  readonly report: IndexReport | undefined;
}

interface Entry extends CatalogedIndex {
  readonly progress: IndexProgress | undefined;
}

export class IndexCatalog {
  private entries = new Map<string, Entry>();
  private byKeyspace = new Map<string, Entry[]>();
  private readonly listeners = new Set<() => void>();

  set(indexes: readonly CatalogedIndex[]): void {
    const before = this.entries;
    this.entries = new Map(indexes.map((index) => [index.definition.id, entryOf(index, before)]));
    this.byKeyspace = Map.groupBy(this.entries.values(), ({ definition }) =>
      keyOf(definition.keyspace),
    ) as Map<string, Entry[]>;
    for (const listener of [...this.listeners]) listener();
  }

  indexesOf(keyspace: Keyspace): readonly IndexStatus[] {
    return (this.byKeyspace.get(keyOf(keyspace)) ?? []).map(statusOf);
  }

  all(): readonly IndexStatus[] {
    return [...this.entries.values()].map(statusOf);
  }

  find(id: string): (CatalogedIndex & { readonly progress: IndexProgress | undefined }) | undefined {
    return this.entries.get(id);
  }

  named(keyspace: Keyspace, name: string): IndexStatus | undefined {
    return this.indexesOf(keyspace).find(({ definition }) => definition.name === name);
  }

  onChange(listener: () => void): { stop(): void } {
    this.listeners.add(listener);
    return { stop: () => void this.listeners.delete(listener) };
  }

  /** Resolves when a snapshot fulfils the condition. Rejects with the signal's reason. */
  async until(isFulfilled: () => boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (isFulfilled()) return;
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        changes.stop();
        signal.removeEventListener('abort', abort);
      };
      const abort = (): void => {
        stop();
        reject(signal.reason as Error);
      };
      const changes = this.onChange(() => {
        if (!isFulfilled()) return;
        stop();
        resolve();
      });
      signal.addEventListener('abort', abort);
    });
  }
}

const keyOf = ({ bucketUuid, collectionId }: Keyspace): string => `${bucketUuid}/${collectionId}`;

function entryOf(index: CatalogedIndex, before: ReadonlyMap<string, Entry>): Entry {
  const earlier = before.get(index.definition.id)?.progress;
  const shared = index.report?.shared;
  if (shared === undefined) return { ...index, progress: earlier };
  return { ...index, progress: earlier?.buffer === shared ? earlier : new IndexProgress(shared) };
}

const statusOf = ({ definition, report, progress }: Entry): IndexStatus => ({
  definition,
  state: report?.state ?? (definition.isDeferred ? 'deferred' : 'building'),
  progress: report?.progress ?? 0,
  ...(report?.message !== undefined && { message: report.message }),
  lastScanMs: progress?.lastScanMs ?? 0,
});

// The collections of a bucket by id and by name, as listed in its manifest.
import type { Manifest } from '../admin.ts';

export interface CollectionEntry {
  id: number;
  name: string;
  scope: ScopeEntry;
  /** A system collection (its name begins with `_`, and it is not the default collection). */
  system: boolean;
  maxTtl: number | undefined;
}

export interface ScopeEntry {
  id: number;
  name: string;
  collections: CollectionEntry[];
}

const isSystemName = (name: string): boolean => name.startsWith('_') && name !== '_default';

export class Collections {
  readonly uid: string;
  readonly scopes: readonly ScopeEntry[];
  private readonly byId = new Map<number, CollectionEntry>();

  constructor(manifest: Manifest) {
    this.uid = manifest.uid;
    this.scopes = manifest.scopes.map((scope) => {
      const entry: ScopeEntry = { id: Number.parseInt(scope.uid, 16), name: scope.name, collections: [] };
      for (const collection of scope.collections) {
        const added: CollectionEntry = {
          id: Number.parseInt(collection.uid, 16),
          name: collection.name,
          scope: entry,
          system: isSystemName(scope.name) || isSystemName(collection.name),
          maxTtl: collection.maxTTL,
        };
        entry.collections.push(added);
        this.byId.set(added.id, added);
      }
      return entry;
    });
  }

  get(id: number): CollectionEntry | undefined {
    return this.byId.get(id);
  }

  all(): IterableIterator<CollectionEntry> {
    return this.byId.values();
  }

  scope(name: string): ScopeEntry | undefined {
    return this.scopes.find((scope) => scope.name === name);
  }
}

// The collections of a bucket by id and by name, as listed in its manifest.
import type { Manifest } from '../admin.ts';

export interface CollectionEntry {
  id: number;
  name: string;
  scope: ScopeEntry;
  /** A system collection: its name or that of its scope begins with `_` and is not `_default`. */
  isSystem: boolean;
  maxTtl: number | undefined;
}

export interface ScopeEntry {
  id: number;
  name: string;
  collections: CollectionEntry[];
  byName: ReadonlyMap<string, CollectionEntry>;
}

const isSystemName = (name: string): boolean => name.startsWith('_') && name !== '_default';

export class Collections {
  readonly uid: string;
  readonly scopes: readonly ScopeEntry[];
  private readonly byId = new Map<number, CollectionEntry>();
  private readonly scopesByName: ReadonlyMap<string, ScopeEntry>;
  private fullManifest: Buffer | null = null;

  constructor(manifest: Manifest) {
    this.uid = manifest.uid;
    this.scopes = manifest.scopes.map((scope) => {
      const byName = new Map<string, CollectionEntry>();
      const id = Number.parseInt(scope.uid, 16);
      const entry: ScopeEntry = { id, name: scope.name, collections: [], byName };
      for (const collection of scope.collections) {
        const added: CollectionEntry = {
          id: Number.parseInt(collection.uid, 16),
          name: collection.name,
          scope: entry,
          isSystem: isSystemName(scope.name) || isSystemName(collection.name),
          maxTtl: collection.maxTTL,
        };
        entry.collections.push(added);
        byName.set(added.name, added);
        this.byId.set(added.id, added);
      }
      return entry;
    });
    this.scopesByName = new Map(this.scopes.map((scope) => [scope.name, scope]));
  }

  /** The manifest for clients that may see all collections; encoded once. */
  get manifest(): Buffer {
    this.fullManifest ??= this.manifestOf(this.scopes, () => true);
    return this.fullManifest;
  }

  /** The manifest with some of the scopes and collections only. */
  manifestOf(scopes: readonly ScopeEntry[], isVisible: (entry: CollectionEntry) => boolean): Buffer {
    const described = scopes.map(({ name, id, collections }) => ({
      name,
      uid: id.toString(16),
      collections: collections.filter(isVisible).map(describe),
    }));
    return Buffer.from(JSON.stringify({ uid: this.uid, scopes: described }));
  }

  get(id: number): CollectionEntry | undefined {
    return this.byId.get(id);
  }

  get count(): number {
    return this.byId.size;
  }

  all(): IterableIterator<CollectionEntry> {
    return this.byId.values();
  }

  scope(name: string): ScopeEntry | undefined {
    return this.scopesByName.get(name);
  }
}

const describe = ({ name, id, maxTtl }: CollectionEntry) => ({
  name,
  uid: id.toString(16),
  ...(maxTtl === undefined ? {} : { maxTTL: maxTtl }),
});

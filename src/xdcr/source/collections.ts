// Which collection of the target takes the documents of which collection of the source: the one of the same name.

/** The collection does not exist there (yet). */
export const noCollection = -1;

export class CollectionRoutes {
  private readonly names = new Map<number, string>();
  private readonly targets = new Map<string, number>();

  setSource(manifest: string): void {
    this.names.clear();
    for (const [name, id] of collectionsIn(manifest)) this.names.set(id, name);
  }

  setTarget(manifest: string): void {
    this.targets.clear();
    for (const [name, id] of collectionsIn(manifest)) this.targets.set(name, id);
  }

  nameOf(id: number): string | undefined {
    return this.names.get(id);
  }

  /** Undefined: the source's collection is not known; its manifest must be read again. */
  targetOf(id: number): number | undefined {
    const name = this.names.get(id);
    return name === undefined ? undefined : (this.targets.get(name) ?? noCollection);
  }
}

interface Manifest {
  readonly scopes: readonly {
    readonly name: string;
    readonly collections: readonly { readonly name: string; readonly uid: string }[];
  }[];
}

function* collectionsIn(text: string): Iterable<readonly [name: string, id: number]> {
  for (const scope of (JSON.parse(text) as Manifest).scopes)
    for (const { name, uid } of scope.collections) yield [`${scope.name}.${name}`, Number.parseInt(uid, 16)];
}

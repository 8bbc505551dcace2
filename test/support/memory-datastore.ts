// Documents and indexes in memory, behind the interfaces that the query engine uses: for tests of the engine alone.
import { compileDefinition } from '#index/entries/compile-definition.ts';
import type { ArrayKey, IndexedDocument } from '#index/entries/compiled-definition.ts';
import { keyPartsOf } from '#index/entries/key-parts.ts';
import type {
  Documents,
  DocumentWrite,
  ReadOptions,
  ScanOptions,
  StoredDocument,
  WriteOptions,
  WriteOutcome,
} from '#sqlpp/datastore/documents.ts';
import type {
  IndexAdmin,
  IndexDefinition,
  Indexes,
  IndexRow,
  IndexScan,
  IndexStatus,
  Span,
} from '#sqlpp/datastore/indexes.ts';
import type { Keyspace, KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Catalog, CatalogRow, Datastore } from '#sqlpp/run/engine.ts';
import { collate } from '#sqlpp/values/collation.ts';
import { identityOf } from '#sqlpp/values/identity.ts';
import { resolveDeep } from '#sqlpp/values/json-parse.ts';
import type { Value } from '#sqlpp/values/value.ts';

const encoder = new TextEncoder();

interface MemoryCollection {
  readonly keyspace: Keyspace;
  readonly documents: Map<string, StoredDocument>;
}

/** The most rows of a scan that is answered at once: few, so that tests cover both ways of scanning. */
const fewRowsMax = 8;

export class MemoryDatastore implements Datastore {
  readonly collections = new Map<string, MemoryCollection>();
  readonly definitions = new Map<string, IndexStatus>();
  /** Like those of the data service: nanoseconds, with counts in the low 16 bits. */
  #cas = 1_795_861_352_528_896_000n;
  #ids = 0;

  /** Rows of `system:prepareds`. */
  readonly prepareds = new Map<string, Value>();
  catalogScans = 0;

  readonly catalog: Catalog = {
    has: (collection) => collection === 'dual' || collection === 'prepareds',
    scan: (collection) => this.#scanCatalog(collection),
    remove: async (collection, ids) => {
      if (collection !== 'prepareds') throw sqlError(11003, 'remove');
      for (const id of ids) this.prepareds.delete(id);
    },
  };

  async *#scanCatalog(collection: string): AsyncGenerator<readonly CatalogRow[]> {
    this.catalogScans++;
    if (collection === 'dual') yield [{ id: 'dual', value: null }];
    else yield [...this.prepareds].map(([id, value]) => ({ id, value }));
  }

  add(bucket: string, scope = '_default', collection = '_default'): Keyspace {
    const name: KeyspaceName = { namespace: 'default', bucket, scope, collection };
    const keyspace = { name, bucketUuid: bucket, scopeId: 0, collectionId: this.collections.size };
    this.collections.set(`${bucket}.${scope}.${collection}`, { keyspace, documents: new Map() });
    return keyspace;
  }

  put(keyspace: Keyspace, id: string, value: unknown): void {
    const bytes = encoder.encode(typeof value === 'string' ? value : JSON.stringify(value));
    const cas = this.#nextCas();
    this.#documentsOf(keyspace).set(id, { id, bytes, isJson: true, cas, expiration: 0, flags: 0 });
  }

  #nextCas(): bigint {
    this.#cas += 65_536n;
    return this.#cas;
  }

  #documentsOf({ name }: Keyspace): Map<string, StoredDocument> {
    const found = this.collections.get(`${name.bucket}.${name.scope}.${name.collection}`);
    if (!found) throw sqlError(12003, name.bucket);
    return found.documents;
  }

  find(name: KeyspaceName): Keyspace | 'no bucket' | 'no scope' | 'no collection' {
    const found = this.collections.get(`${name.bucket}.${name.scope}.${name.collection}`);
    if (found) return found.keyspace;
    const buckets = [...this.collections.values()].filter(
      ({ keyspace }) => keyspace.name.bucket === name.bucket,
    );
    if (buckets.length === 0) return 'no bucket';
    return buckets.some(({ keyspace }) => keyspace.name.scope === name.scope) ? 'no collection' : 'no scope';
  }

  /** The buffer into which each document is copied, over the one before: rows must not refer to it. */
  readonly #scratch = Buffer.alloc(256 << 10);

  readonly documents: Documents = {
    readNow: (keyspace, ids, { xattrs = [] }, receive) =>
      xattrs.length > 0 ? null : this.#readNow(this.#documentsOf(keyspace), ids, receive),
    read: (keyspace: Keyspace, ids: readonly string[], _options: ReadOptions) => {
      const documents = this.#documentsOf(keyspace);
      return ids.map((id) => documents.get(id));
    },
    scan: (keyspace: Keyspace, _options: ScanOptions) => this.#scan(keyspace),
    count: async (keyspace: Keyspace) => this.#documentsOf(keyspace).size,
    write: async (keyspace: Keyspace, writes: readonly DocumentWrite[], _options: WriteOptions) =>
      writes.map((write) => this.#write(this.#documentsOf(keyspace), write)),
  };

  /** Leaves out large documents, and every third one, so that tests cover both ways of reading. */
  #readNow(
    documents: ReadonlyMap<string, StoredDocument>,
    ids: readonly string[],
    receive: Parameters<NonNullable<Documents['readNow']>>[3],
  ): number[] {
    const others: number[] = [];
    for (const [at, id] of ids.entries()) {
      const document = documents.get(id);
      if (document === undefined || at % 3 === 1 || 2 * document.bytes.length > this.#scratch.length) {
        others.push(at);
        continue;
      }
      this.#scratch.fill('x').set(document.bytes);
      receive({ ...document, place: { buffer: this.#scratch, start: 0, end: document.bytes.length } }, at);
    }
    this.#scratch.fill('x');
    return others;
  }

  async *#scan(keyspace: Keyspace): AsyncGenerator<readonly StoredDocument[]> {
    const documents = [...this.#documentsOf(keyspace).values()];
    for (let at = 0; at < documents.length; at += 100) yield documents.slice(at, at + 100);
  }

  #write(documents: Map<string, StoredDocument>, write: DocumentWrite): WriteOutcome {
    const before = documents.get(write.id);
    if (write.kind === 'insert' && before) return { status: 'exists' };
    if ((write.kind === 'replace' || write.kind === 'delete') && !before) return { status: 'not found' };
    if (write.cas !== 0n && before && before.cas !== write.cas) return { status: 'cas mismatch' };
    const cas = this.#nextCas();
    if (write.kind === 'delete') documents.delete(write.id);
    else {
      const expiration = write.expiration === 'keep' ? (before?.expiration ?? 0) : write.expiration;
      documents.set(write.id, {
        id: write.id,
        bytes: write.bytes.slice(),
        isJson: true,
        cas,
        expiration,
        flags: 0,
      });
    }
    return { status: 'done', cas };
  }

  readonly indexAdmin: IndexAdmin = {
    create: async (definition, { ifNotExists }) => {
      const exists = [...this.definitions.values()].some(
        (status) =>
          status.definition.name === definition.name && status.definition.keyspace === definition.keyspace,
      );
      if (exists && ifNotExists) return;
      if (exists) throw sqlError(4300, definition.name);
      const id = String(++this.#ids).padStart(16, '0');
      const state = definition.isDeferred ? 'deferred' : 'online';
      const { replicas = 0 } = definition;
      const status = { state, progress: 100, lastScanMs: 0 } as const;
      this.definitions.set(id, { definition: { ...definition, replicas, id }, ...status });
    },
    drop: async (keyspace, name, { ifExists }) => {
      const found = [...this.definitions].find(
        ([, status]) => status.definition.name === name && status.definition.keyspace === keyspace,
      );
      if (found) this.definitions.delete(found[0]);
      else if (!ifExists) throw sqlError(12016);
    },
    build: async (keyspace, names) => {
      for (const [id, status] of this.definitions) {
        const { definition } = status;
        if (definition.keyspace === keyspace && names.includes(definition.name))
          this.definitions.set(id, { ...status, state: 'online' });
      }
    },
    alter: async () => {},
  };

  readonly indexes: Indexes = {
    indexesOf: (keyspace) =>
      [...this.definitions.values()].filter(({ definition }) => definition.keyspace === keyspace),
    scan: (scan) => this.#indexScan(scan),
    scanNow: (scan) => {
      if (scan.spans.length > 1) return 'many';
      const rows = this.#rowsOf(scan);
      return rows.length > fewRowsMax ? 'many' : rows;
    },
    figures: async () => ({ rows: 0, diskBytes: 0 }),
  };

  async *#indexScan(scan: IndexScan): AsyncGenerator<readonly IndexRow[]> {
    const rows = this.#rowsOf(scan);
    for (let at = 0; at < rows.length; at += 100) yield rows.slice(at, at + 100);
  }

  #rowsOf(scan: IndexScan): IndexRow[] {
    for (const span of scan.spans) checkParsed(span);
    const definition = scan.index;
    let entries = this.#entries(definition).filter(
      ({ keys }) => scan.spans.length === 0 || scan.spans.some((span) => isIn(keys, span)),
    );
    entries.sort((a, b) => compareEntries(definition, a, b) * (scan.isReverse ? -1 : 1));
    if (scan.isDistinct) {
      const seen = new Set<string>();
      entries = entries.filter(({ id }) => !seen.has(id) && seen.add(id));
    }
    return entries
      .slice(scan.offset, scan.offset + scan.limit)
      .map(({ id, keys }) => ({ id, keys: scan.keys.map((position) => keys[position]) }));
  }

  #entries(definition: IndexDefinition): Entry[] {
    const entriesOf = compiled(definition);
    return [...this.#documentsOf(definition.keyspace).values()].flatMap((document) => entriesOf(document));
  }
}

interface Entry {
  readonly id: string;
  readonly keys: readonly Value[];
}

/** The rows that index files have, as values. */
function compiled(definition: IndexDefinition): (document: StoredDocument) => Entry[] {
  const { condition, keys } = compileDefinition(definition);
  const [first] = keys;
  const leading = first?.kind === 'array' ? first.parts[0] : first;
  const includesMissing = leading?.includesMissing ?? true;
  return (stored) => {
    const document = { ...stored, body: stored.bytes, xattr: () => undefined };
    if (condition && !condition(document)) return [];
    let entries: Value[][] = [[]];
    for (const [at, key] of keys.entries()) {
      const values = key.kind === 'array' ? elements(key, document, at === 0) : [[key.evaluate(document)]];
      entries = entries.flatMap((each) => values.map((value) => [...each, ...value]));
    }
    return entries
      .filter(([leadingValue]) => includesMissing || leadingValue !== undefined)
      .map((each) => ({ id: stored.id, keys: each }));
  };
}

function elements(
  key: ArrayKey,
  document: IndexedDocument,
  isLeading: boolean,
): readonly (readonly Value[])[] {
  const found = key.evaluate(document);
  // A scan by the keys before it must find documents without elements, too.
  if (found === 'missing' || (found.length === 0 && !isLeading)) return [key.parts.map(() => undefined)];
  return key.isDistinct ? [...new Map(found.map((each) => [identityOf([...each]), each])).values()] : found;
}

function isIn(keys: readonly Value[], { ranges }: Span): boolean {
  return ranges.every(({ low, high }, at) => {
    const value = keys[at];
    if (low) {
      const order = collate(value, resolveDeep(low.value));
      if (order < 0 || (order === 0 && !low.isInclusive)) return false;
    }
    if (high) {
      const order = collate(value, resolveDeep(high.value));
      if (order > 0 || (order === 0 && !high.isInclusive)) return false;
    }
    return true;
  });
}

function compareEntries(definition: IndexDefinition, a: Entry, b: Entry): number {
  for (const [at, key] of keyPartsOf(definition).entries()) {
    const order = collate(a.keys[at], b.keys[at]);
    if (order !== 0) return key.isDescending ? -order : order;
  }
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/** Refuses unparsed bounds, like index files, which encode them. */
function checkParsed({ ranges }: Span): void {
  for (const value of ranges.flatMap(({ low, high }) => [low?.value, high?.value]))
    if (resolveDeep(value) !== value) throw new TypeError('a bound of a scan is text that was not parsed');
}

// Sources of rows: keys, unions of index scans, collections, the catalog and expressions.
import type { Keyspace } from '../datastore/keyspace.ts';
import type { Source } from '../plan/block.ts';
import type { CatalogScan, CollectionScan, CountScan, KeyScan, UnionScan } from '../plan/operators.ts';
import { newObject, type Value } from '../values/value.ts';
import type { BlockCompiler, Code } from './code.ts';
import { DocumentReader } from './document-reader.ts';
import type { CatalogRow } from './engine.ts';
import { indexScan, limitOf, offsetOf } from './index-scanning.ts';
import { type Batch, Batcher, batchRows, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';
import { SeenIds } from './seen-ids.ts';
import { ended, type Step, StepIterator } from './step-iterator.ts';

export function keyScan(compiler: BlockCompiler, scan: KeyScan): Pull {
  const keys = compiler.code(scan.keys);
  const idSlot = scan.source.idSlot as number;
  return (run, seed) => new KeyRows(run, seed, idSlot, () => keysOf(run, keys, seed, scan.isDistinct));
}

class KeyRows extends StepIterator<Batch> {
  readonly #run: Run;
  readonly #seed: Row;
  readonly #idSlot: number;
  /** Finds the keys; null once it was called. */
  #find: (() => readonly string[] | Promise<readonly string[]>) | null;
  #keys: readonly string[] = [];
  #at = 0;

  constructor(
    run: Run,
    seed: Row,
    idSlot: number,
    find: () => readonly string[] | Promise<readonly string[]>,
  ) {
    super();
    this.#run = run;
    this.#seed = seed;
    this.#idSlot = idSlot;
    this.#find = find;
  }

  step(): Step<Batch> | Promise<Step<Batch>> {
    const find = this.#find;
    if (find === null) return this.#batch();
    this.#find = null;
    const keys = find();
    return keys instanceof Promise ? keys.then((found) => this.#first(found)) : this.#first(keys);
  }

  return(): Promise<Step<Batch>> {
    this.#find = null;
    this.#keys = [];
    return Promise.resolve(ended);
  }

  #first(keys: readonly string[]): Step<Batch> {
    this.#keys = keys;
    this.#run.phase('keyScan').items += keys.length;
    return this.#batch();
  }

  #batch(): Step<Batch> {
    const end = Math.min(this.#keys.length, this.#at + batchRows);
    if (this.#at >= end) return ended;
    const rows: Batch = [];
    for (; this.#at < end; this.#at++)
      rows.push(withSlot(this.#seed, this.#idSlot, this.#keys[this.#at] as string));
    return { done: false, value: rows };
  }
}

/** The keys in a string or an array of strings; other values have none. */
export function keysOf(run: Run, code: Code, row: Row, isDistinct: boolean): string[] | Promise<string[]> {
  const value = run.value(() => code.run(row, run.evaluation));
  return value instanceof Promise
    ? value.then((known) => keysIn(run, known, isDistinct))
    : keysIn(run, value, isDistinct);
}

function keysIn(run: Run, unresolved: Value, isDistinct: boolean): string[] {
  const value = run.resolve(unresolved);
  const list = Array.isArray(value) ? (value as Value[]) : [value];
  const keys = list.map((item) => run.resolve(item)).filter((item) => typeof item === 'string');
  return isDistinct ? [...new Set(keys)] : keys;
}

function withSlot(row: Row, slot: number, value: Value): Row {
  const next = row.slice();
  next[slot] = value;
  return next;
}

/** Yields each document key of the scans once. */
export function unionScan(compiler: BlockCompiler, union: UnionScan): Pull {
  const scans = union.scans.map((scan) => indexScan(compiler, scan));
  const idSlot = union.source.idSlot as number;
  return async function* pullUnion(run, seed) {
    const seen = new SeenIds(run);
    try {
      for (const scan of scans) {
        const batcher = new Batcher();
        for await (const rows of scan(run, seed)) {
          for (const row of rows) {
            if (!seen.add(row[idSlot] as string)) continue;
            const full = batcher.add(row);
            if (full) yield full;
          }
          seen.count();
        }
        if (batcher.size > 0) yield batcher.drain();
      }
    } finally {
      seen.discard();
    }
  };
}

export function collectionScan(compiler: BlockCompiler, scan: CollectionScan): Pull {
  const reader = new DocumentReader(compiler, scan.source, !scan.keysOnly);
  const limit = scan.limit && compiler.code(scan.limit);
  const offset = scan.offset && compiler.code(scan.offset);
  const keyspace = scan.keyspace.keyspace as Keyspace;
  return async function* pullCollection(run, seed) {
    const { documents } = run.context.datastore;
    let remaining = await limitOf(limit, run, seed);
    let skip = await offsetOf(offset, run, seed);
    const options = { ...reader.options(run), keysOnly: scan.keysOnly };
    const phase = run.phase('primaryScan');
    if (remaining <= 0) return;
    for await (const found of documents.scan(keyspace, options)) {
      phase.items += found.length;
      for (let at = 0; at < found.length; at += batchRows) {
        let part = found.slice(at, at + batchRows);
        if (skip > 0) {
          const skipped = Math.min(skip, part.length);
          part = part.slice(skipped);
          skip -= skipped;
        }
        if (part.length > remaining) part = part.slice(0, remaining);
        remaining -= part.length;
        if (part.length > 0) yield part.map((document) => reader.row(seed, document));
        if (remaining <= 0) return;
        await run.yieldIfDue();
      }
    }
  };
}

export function catalogScan(compiler: BlockCompiler, scan: CatalogScan): Pull {
  const keys = scan.keys && compiler.code(scan.keys);
  const { collection } = scan.keyspace.name;
  const rowOf = catalogRow(scan);
  if (keys) return catalogKeys(keys, scan);
  return async function* pullCatalog(run, seed) {
    const { catalog } = run.context.datastore;
    for await (const found of catalog.scan(collection, run.context, (warning) => run.warn(warning))) {
      yield found.map((row) => rowOf(seed, row));
      await run.yieldIfDue();
    }
  };
}

/** USE KEYS and ON KEYS. The catalog is read once for all rows on the left side of a join. */
function catalogKeys(keys: Code, scan: CatalogScan): Pull {
  const { collection } = scan.keyspace.name;
  const rowOf = catalogRow(scan);
  const read = async (run: Run): Promise<Map<string, CatalogRow>> => {
    const { catalog } = run.context.datastore;
    const rows = new Map<string, CatalogRow>();
    for await (const found of catalog.scan(collection, run.context, (warning) => run.warn(warning))) {
      for (const row of found) rows.set(row.id, row);
      await run.yieldIfDue();
    }
    return rows;
  };
  const known = new WeakMap<Run, Promise<Map<string, CatalogRow>>>();
  return async function* pullCatalogKeys(run, seed) {
    const wanted = await keysOf(run, keys, seed, scan.isDistinct);
    const reading = known.get(run) ?? read(run);
    known.set(run, reading);
    const rows = await reading;
    const found = wanted.map((key) => rows.get(key)).filter((row) => row !== undefined);
    if (found.length > 0) yield found.map((row) => rowOf(seed, row));
  };
}

/** Makes the row of a block from an entry of the catalog. */
function catalogRow({ source, keyspace }: CatalogScan): (seed: Row, row: CatalogRow) => Row {
  const { slot, idSlot, metaSlot } = source;
  return (seed, { id, value }) => {
    const row = seed.slice();
    row[slot] = value;
    row[idSlot as number] = id;
    const meta = newObject();
    meta['id'] = id;
    meta['keyspace'] = `system:${keyspace.name.collection}`;
    row[metaSlot as number] = meta;
    return row;
  };
}

export function countScan(scan: CountScan): Pull {
  return async function* pullCount(run, seed) {
    const { documents } = run.context.datastore;
    const count = await documents.count(scan.keyspace.keyspace as Keyspace, run.context.signal);
    run.phase('count').items++;
    const row = seed.slice();
    for (const slot of scan.slots) row[slot] = count;
    yield [row];
  };
}

export function expressionScan(source: Source, code: Code): Pull {
  return async function* pullExpression(run, seed) {
    const value = run.resolve(await run.value(() => code.run(seed, run.evaluation)));
    if (value === undefined) return;
    const items = Array.isArray(value) ? (value as Value[]) : [value];
    for (let at = 0; at < items.length; at += batchRows) {
      yield items.slice(at, at + batchRows).map((item) => withSlot(seed, source.slot, item));
      await run.yieldIfDue();
    }
  };
}

// Sources of rows: keys, indexes, collections, the catalog and expressions.
import type { IndexRow, IndexScan as StoredScan } from '../datastore/indexes.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import type { Source } from '../plan/block.ts';
import type {
  CatalogScan,
  CollectionScan,
  CountScan,
  IndexScan,
  KeyScan,
  UnionScan,
} from '../plan/operators.ts';
import { nestableBounds } from '../plan/spans.ts';
import { newObject, type Value } from '../values/value.ts';
import { compileHasNested, compileSpans } from './bounds.ts';
import type { BlockCompiler, Code } from './code.ts';
import { DocumentReader } from './document-reader.ts';
import { Batcher, batchRows, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';

export function keyScan(compiler: BlockCompiler, scan: KeyScan): Pull {
  const keys = compiler.code(scan.keys);
  const { idSlot } = scan.source;
  return async function* pullKeys(run, seed) {
    const batcher = new Batcher();
    const found = await keysOf(run, keys, seed, scan.isDistinct);
    run.phase('keyScan').items += found.length;
    for (const key of found) {
      const full = batcher.add(withSlot(seed, idSlot as number, key));
      if (full) yield full;
    }
    if (batcher.size > 0) yield batcher.take();
  };
}

/** The keys in a string or an array of strings; other values have none. */
export async function keysOf(run: Run, code: Code, row: Row, isDistinct: boolean): Promise<string[]> {
  const value = run.resolve(await run.value(() => code.run(row, run.evaluation)));
  const list = Array.isArray(value) ? (value as Value[]) : [value];
  const keys = list.map((item) => run.resolve(item)).filter((item) => typeof item === 'string');
  return isDistinct ? [...new Set(keys)] : keys;
}

function withSlot(row: Row, slot: number, value: Value): Row {
  const next = row.slice();
  next[slot] = value;
  return next;
}

export function indexScan(compiler: BlockCompiler, scan: IndexScan): Pull {
  const spans = compileSpans(compiler, scan.spans);
  const limit = scan.limit && compiler.code(scan.limit);
  const offset = scan.offset && compiler.code(scan.offset);
  const { idSlot } = scan.source;
  const isUnbounded = scan.spans.length === 0;
  const isPushed = limit !== undefined || offset !== undefined;
  const isWider = compileHasNested(compiler, nestableBounds(isPushed ? scan.spans : []));
  const keys = scan.covers.map((cover) => cover.position);
  return async function* pullIndex(run, seed) {
    let found: StoredScan['spans'] = [];
    const waiting = run.each(once, () => {
      found = spans(run, seed);
    });
    if (waiting !== undefined) await waiting;
    if (found.length === 0 && !isUnbounded) return;
    const isLimited = isPushed && !isWider(run, seed);
    const bounds = isLimited ? await limits(run, seed, limit, offset) : unlimited;
    if (bounds.limit <= 0) return;
    const asked = run.context.consistency(scan.keyspace.keyspace as Keyspace);
    const consistency = asked instanceof Promise ? await asked : asked;
    const batches = run.context.datastore.indexes.scan({
      index: scan.index,
      spans: found,
      keys,
      isReverse: scan.isReverse,
      isDistinct: scan.isDistinct,
      offset: bounds.offset,
      limit: bounds.limit,
      consistency,
      waitMs: run.context.scanWaitMs,
      signal: run.context.signal,
      yieldIfDue: () => run.yieldIfDue(),
    });
    const phase = run.phase('indexScan');
    for await (const rows of batches) {
      phase.items += rows.length;
      for (let at = 0; at < rows.length; at += batchRows) {
        yield rows.slice(at, at + batchRows).map((entry) => indexRow(seed, idSlot as number, scan, entry));
        const pause = run.yieldIfDue();
        if (pause !== undefined) await pause;
      }
    }
  };
}

function indexRow(seed: Row, idSlot: number, scan: IndexScan, entry: IndexRow): Row {
  const row = seed.slice();
  row[idSlot] = entry.id;
  const { covers } = scan;
  for (let at = 0; at < covers.length; at++)
    row[(covers[at] as (typeof covers)[number]).slot] = entry.keys[at];
  for (const { slot, constant } of scan.constants) row[slot] = constant;
  return row;
}

const once = [null];
const unlimited = { limit: Number.POSITIVE_INFINITY, offset: 0 };

async function limits(
  run: Run,
  seed: Row,
  limit: Code | undefined,
  offset: Code | undefined,
): Promise<{ limit: number; offset: number }> {
  return {
    limit: limit ? await run.count(limit, seed, 'LIMIT') : Number.POSITIVE_INFINITY,
    offset: offset ? await run.count(offset, seed, 'OFFSET') : 0,
  };
}

/** Each document key of the scans once. */
export function unionScan(compiler: BlockCompiler, union: UnionScan): Pull {
  const scans = union.scans.map((scan) => indexScan(compiler, scan));
  const idSlot = union.source.idSlot as number;
  return async function* pullUnion(run, seed) {
    const seen = new Set<string>();
    for (const scan of scans) {
      const batcher = new Batcher();
      for await (const rows of scan(run, seed)) {
        for (const row of rows) {
          const id = row[idSlot] as string;
          if (seen.has(id)) continue;
          seen.add(id);
          const full = batcher.add(row);
          if (full) yield full;
        }
      }
      if (batcher.size > 0) yield batcher.take();
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
    const bounds = await limits(run, seed, limit, offset);
    const options = { ...reader.options(run), keysOnly: scan.keysOnly };
    const phase = run.phase('primaryScan');
    let skip = bounds.offset;
    let remaining = bounds.limit;
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

export function catalogScan(scan: CatalogScan): Pull {
  const { slot, idSlot, metaSlot } = scan.source;
  return async function* pullCatalog(run, seed) {
    const { catalog } = run.context.datastore;
    const { collection } = scan.keyspace.name;
    const warn = (warning: Error) => run.warn(warning);
    for await (const found of catalog.scan(collection, run.context, warn)) {
      yield found.map(({ id, value }) => {
        const row = seed.slice();
        row[slot] = value;
        row[idSlot as number] = id;
        const meta = newObject();
        meta['id'] = id;
        meta['keyspace'] = `system:${collection}`;
        row[metaSlot as number] = meta;
        return row;
      });
      await run.yieldIfDue();
    }
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

// Streaming operators: filter, let, project, distinct, offset, limit, unnest, fetch.
import type { FoundDocuments, StoredDocument } from '../datastore/documents.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import type { LogicalProjection, SlotBinding } from '../plan/logical.ts';
import type { Fetch, Operator, Unnest } from '../plan/operators.ts';
import type { NestableBounds } from '../plan/spans.ts';
import { staticValue } from '../text/static-value.ts';
import type { Expression } from '../tree/expression.ts';
import { isTrue } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import { compileHasNested } from './bounds.ts';
import type { BlockCompiler } from './code.ts';
import { DistinctRows } from './distinct-rows.ts';
import { DocumentReader } from './document-reader.ts';
import { groupKey, RowKeys } from './keys.ts';
import { compileAnswerRow, compileProjection } from './projection.ts';
import { type Batch, Batcher, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';
import { afterEach, staged } from './stages.ts';

export function filter(compiler: BlockCompiler, input: Pull, condition: Expression): Pull {
  const code = compiler.code(condition);
  return staged(input, (run, rows) => {
    const passing: Batch = [];
    const waiting = run.each(rows, (row) => {
      if (isTrue(code.run(row, run.evaluation))) passing.push(row);
    });
    return waiting === undefined ? passing : waiting.then(() => passing);
  });
}

export function letVariables(compiler: BlockCompiler, input: Pull, bindings: readonly SlotBinding[]): Pull {
  const codes = bindings.map(({ slot, expression }) => ({ slot, code: compiler.code(expression) }));
  return staged(input, (run, rows) =>
    afterEach(run, rows, (row) => {
      for (const { slot, code } of codes) row[slot] = code.run(row, run.evaluation);
    }),
  );
}

export function project(compiler: BlockCompiler, input: Pull, projection: LogicalProjection): Pull {
  const asText = compiler.isAnswer(projection) ? compileAnswerRow(compiler, projection) : undefined;
  const evaluate = asText ?? compileProjection(compiler, projection);
  const { resultSlot } = projection;
  return staged(input, (run, rows) =>
    afterEach(run, rows, (row) => {
      row[resultSlot] = evaluate(run, row);
    }),
  );
}

export function distinct(input: Pull, slot: number): Pull {
  return async function* pullDistinct(run, seed) {
    const keys = new RowKeys(groupKey);
    const distinct = new DistinctRows(run, (row) => keys.of([row[slot]]));
    try {
      for await (const rows of input(run, seed)) {
        const distinctRows = await distinct.fresh(rows);
        if (distinctRows.length > 0) yield distinctRows;
        await run.yieldIfDue();
      }
      yield* distinct.rest();
    } finally {
      await distinct.close();
    }
  };
}

type OffsetOperator = Extract<Operator, { op: 'offset' }>;
type LimitOperator = Extract<Operator, { op: 'limit' }>;

export function offset(
  compiler: BlockCompiler,
  input: Pull,
  { offset: expression, unlessNested }: OffsetOperator,
): Pull {
  const code = compiler.code(expression);
  return unlessPushed(compiler, input, unlessNested, async function* pullOffset(run, seed) {
    let skip = await run.count(code, seed, 'OFFSET');
    for await (const rows of input(run, seed)) {
      if (skip >= rows.length) {
        skip -= rows.length;
        continue;
      }
      yield skip > 0 ? rows.slice(skip) : rows;
      skip = 0;
    }
  });
}

export function limit(
  compiler: BlockCompiler,
  input: Pull,
  { limit: expression, unlessNested }: LimitOperator,
): Pull {
  const code = compiler.code(expression);
  return unlessPushed(compiler, input, unlessNested, async function* pullLimit(run, seed) {
    let remaining = await run.count(code, seed, 'LIMIT');
    if (remaining <= 0) return;
    for await (const rows of input(run, seed)) {
      if (rows.length >= remaining) {
        yield rows.length > remaining ? rows.slice(0, remaining) : rows;
        return;
      }
      remaining -= rows.length;
      yield rows;
    }
  });
}

/** The clause where a bound of the scan is an array or an object; with other bounds the scan itself applies the clause. */
function unlessPushed(
  compiler: BlockCompiler,
  input: Pull,
  unlessNested: NestableBounds | undefined,
  clause: Pull,
): Pull {
  if (!unlessNested) return clause;
  const hasNested = compileHasNested(compiler, unlessNested);
  return (run, seed) => (hasNested(run, seed) ? clause(run, seed) : input(run, seed));
}

export function unnest(compiler: BlockCompiler, input: Pull, node: Unnest): Pull {
  const code = compiler.code(node.expression);
  const { slot, positionSlot } = node.source;
  // An inner UNNEST leaves out MISSING elements, which array indexes lack; those of literal arrays are kept, as published.
  const keepsMissing = node.isOuter || staticValue(node.expression) !== undefined;
  return async function* pullUnnested(run, seed) {
    for await (const rows of input(run, seed)) {
      const arrays: Value[] = [];
      await run.each(rows, (row, at) => {
        arrays[at] = run.resolve(code.run(row, run.evaluation));
      });
      const batcher = new Batcher();
      for (const [at, row] of rows.entries()) {
        const array = arrays[at];
        if (!Array.isArray(array) || array.length === 0) {
          const full = node.isOuter ? batcher.add(row) : undefined;
          if (full) yield full;
          continue;
        }
        for (const [position, item] of (array as Value[]).entries()) {
          if (item === undefined && !keepsMissing) continue;
          const next = row.slice();
          next[slot] = item;
          next[positionSlot as number] = position;
          const full = batcher.add(next);
          if (full) yield full;
        }
      }
      if (batcher.size > 0) yield batcher.drain();
      await run.yieldIfDue();
    }
  };
}

export function fetchDocuments(compiler: BlockCompiler, input: Pull, node: Fetch): Pull {
  const reader = new DocumentReader(compiler, node.source, true);
  const keyspace = node.keyspace.keyspace as Keyspace;
  const idSlot = node.source.idSlot as number;
  return staged(input, (run, rows) => readRows(run, reader, keyspace, rows, idSlot));
}

/** Adds documents to rows; drops rows without a document. Yields between parts of the rows, which are small where documents are large. */
export function readRows(
  run: Run,
  reader: DocumentReader,
  keyspace: Keyspace,
  rows: Batch,
  idSlot: number,
): Batch | Promise<Batch> {
  const readPart = (part: Batch): Batch | Promise<Batch> => readAtOnce(run, reader, keyspace, part, idSlot);
  return rows.length === 1 ? readPart(rows) : readInParts(run, readPart, rows, []);
}

type ReadPart = (part: Batch) => Batch | Promise<Batch>;

/** `read` has the rows that were read before these. */
function readInParts(run: Run, readPart: ReadPart, rows: Batch, read: Batch): Batch | Promise<Batch> {
  for (let at = 0; at < rows.length; ) {
    const count = Math.min(rows.length - at, run.slices.documentsAtOnce);
    const found = readPart(count === rows.length ? rows : rows.slice(at, at + count));
    at += count;
    const rest = async (): Promise<Batch> => readInParts(run, readPart, rows.slice(at), read);
    if (found instanceof Promise) {
      return found.then(async (part) => {
        read.push(...part);
        await run.slices.yieldAfterDocuments(count);
        return rest();
      });
    }
    if (read.length === 0) read = found;
    else for (const row of found) read.push(row);
    const pause = run.slices.yieldAfterDocuments(count);
    if (pause !== undefined) return pause.then(rest);
  }
  return read;
}

function readAtOnce(
  run: Run,
  reader: DocumentReader,
  keyspace: Keyspace,
  rows: Batch,
  idSlot: number,
): Batch | Promise<Batch> {
  const { documents } = run.context.datastore;
  const ids = rows.map((row) => row[idSlot] as string);
  const options = reader.options(run);
  const fill = (document: StoredDocument, at: number): void => reader.fill(rows[at] as Row, document);
  run.slices.startTakingDocuments();
  const others = documents.readNow?.(keyspace, ids, options, fill) ?? [...ids.keys()];
  run.phase('fetch').items += ids.length;
  if (others.length === 0) return rows;
  const otherIds = others.map((at) => ids[at] as string);
  const add = (found: FoundDocuments): Batch => {
    const missing = new Set<number>();
    others.forEach((at, index) => {
      const document = found[index];
      if (document === undefined) missing.add(at);
      else {
        run.slices.countDocument(bodyBytes(document));
        fill(document, at);
      }
    });
    return missing.size === 0 ? rows : rows.filter((_, at) => !missing.has(at));
  };
  const found = documents.read(keyspace, otherIds, options);
  if (!(found instanceof Promise)) return add(found);
  return found.then((arrived) => {
    run.slices.startTakingDocuments();
    return add(arrived);
  });
}

/** Reads `bytes` only without a `place`: each access to `bytes` may make a copy. */
const bodyBytes = (document: StoredDocument): number =>
  document.place === undefined ? document.bytes.length : document.place.end - document.place.start;

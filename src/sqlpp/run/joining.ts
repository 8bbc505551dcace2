// Joins and nests: nested loops and lookups by key.
import type { Keyspace } from '../datastore/keyspace.ts';
import type { Join, KeyScan, Operator } from '../plan/operators.ts';
import { isTrue } from '../values/types.ts';
import type { BlockCompiler, Code } from './code.ts';
import { DocumentReader } from './document-reader.ts';
import { readRows } from './flow.ts';
import { HeldMemory } from './held-memory.ts';
import { type Batch, Batcher, batchRows, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';
import { keysOf } from './scans.ts';
import { sizeOf, sizeOfCopy, sizeOfRow } from './size.ts';

/** Combines one left row with its matches. */
export type Emit = (left: Row, matches: readonly Row[]) => readonly Row[];

/** How the join combines a left row with its matches: as rows, or in NEST as one array. */
export function emitter({ isOuter, nestSlot }: Pick<Join, 'isOuter' | 'nestSlot'>): Emit {
  if (nestSlot === undefined) return (left, matches) => (matches.length === 0 && isOuter ? [left] : matches);
  return (left, matches) => {
    if (matches.length === 0 && !isOuter) return [];
    const nested = left.slice();
    nested[nestSlot] = matches.map((match) => match[nestSlot]).filter((value) => value !== undefined);
    return [nested];
  };
}

/** Adds the slots of a right row to a left row. Slots that both rows have come from the seed row, and are equal. */
export function merged(left: Row, right: Row): Row {
  const row = left.slice();
  for (let slot = 0; slot < right.length; slot++) {
    if (right[slot] !== undefined) row[slot] = right[slot];
  }
  return row;
}

/** The rows that fulfil the condition. */
export async function matching(
  run: Run,
  condition: Code | undefined,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  if (!condition) return rows;
  const matched: Row[] = [];
  await run.each(rows, (row) => {
    if (isTrue(condition.run(row, run.evaluation))) matched.push(row);
  });
  return matched;
}

/** The right side runs for every left row. */
export function loopJoin(compiler: BlockCompiler, input: Pull, right: Pull, join: Join): Pull {
  const condition = join.condition && compiler.code(join.condition);
  const emit = emitter(join);
  return async function* pullJoined(run, seed) {
    const batcher = new Batcher();
    for await (const rows of input(run, seed)) {
      for (const left of rows) {
        const nested: Row[] = [];
        const memory = new HeldMemory(run);
        let isMatched = false;
        try {
          for await (const found of right(run, left)) {
            const matched = await matching(run, condition, found);
            if (join.nestSlot === undefined) {
              for (const row of matched) {
                const full = batcher.add(row);
                if (full) yield full;
              }
              if (matched.length > 0) isMatched = true;
            } else {
              for (const row of matched) nested.push(row);
              memory.hold(sizeOfNested(matched, join.nestSlot));
            }
            await run.yieldIfDue();
          }
          await run.yieldIfDue();
          if (isMatched) continue;
          for (const row of emit(left, nested)) {
            const full = batcher.add(row);
            if (full) yield full;
          }
        } finally {
          memory.release();
        }
      }
      if (batcher.size > 0) yield batcher.drain();
    }
  };
}

/** The memory of matches that wait for the nest of their left row. */
const sizeOfNested = (rows: readonly Row[], nestSlot: number): number =>
  rows.reduce((sum, row) => sum + sizeOfCopy(row) + sizeOf(row[nestSlot]), 0);

/** The right side does not depend on the left row: it runs once. */
export function constantJoin(compiler: BlockCompiler, input: Pull, right: Pull, join: Join): Pull {
  const condition = join.condition && compiler.code(join.condition);
  const emit = emitter(join);
  return async function* pullJoined(run, seed) {
    const { rows: rights, bytes } = await gather(run, right, seed);
    const batcher = new Batcher();
    try {
      for await (const rows of input(run, seed)) {
        for (const left of rows) {
          const matches: Row[] = [];
          for (let at = 0; at < rights.length; at += batchRows) {
            const pairs = rights.slice(at, at + batchRows).map((row) => merged(left, row));
            for (const row of await matching(run, condition, pairs)) matches.push(row);
            await run.yieldIfDue();
          }
          for (const row of emit(left, matches)) {
            const full = batcher.add(row);
            if (full) yield full;
          }
        }
        if (batcher.size > 0) yield batcher.drain();
      }
    } finally {
      run.release(bytes);
    }
  };
}

async function gather(run: Run, pull: Pull, seed: Row): Promise<{ rows: Row[]; bytes: number }> {
  const gathered: Row[] = [];
  let bytes = 0;
  for await (const rows of pull(run, seed)) {
    let added = 0;
    for (const row of rows) {
      gathered.push(row);
      added += sizeOfRow(row);
    }
    run.hold(added);
    bytes += added;
    await run.yieldIfDue();
  }
  return { rows: gathered, bytes };
}

/** A left row and the keys of its matches. */
interface KeyedRow {
  readonly left: Row;
  readonly keys: readonly string[];
}

/** Lookup join: the left rows have the keys of the right documents, of which about a batch are read at once. */
export function lookupJoin(compiler: BlockCompiler, input: Pull, scan: KeyScan, join: Join): Pull {
  const keys = compiler.code(scan.keys);
  const joined = compileLookup(compiler, scan, join);
  return async function* pullLookup(run, seed) {
    for await (const rows of input(run, seed)) {
      let keyed: KeyedRow[] = [];
      let count = 0;
      for (const left of rows) {
        const found = await keysOf(run, keys, left, scan.isDistinct);
        keyed.push({ left, keys: found });
        count += found.length;
        if (count < batchRows) continue;
        yield* joined(run, keyed);
        keyed = [];
        count = 0;
      }
      if (keyed.length > 0) yield* joined(run, keyed);
      await run.yieldIfDue();
    }
  };
}

function compileLookup(
  compiler: BlockCompiler,
  scan: KeyScan,
  join: Join,
): (run: Run, keyed: readonly KeyedRow[]) => AsyncGenerator<Batch> {
  const condition = join.condition && compiler.code(join.condition);
  const reader = new DocumentReader(compiler, scan.source, true);
  const keyspace = scan.keyspace.keyspace as Keyspace;
  const idSlot = scan.source.idSlot as number;
  const emit = emitter(join);
  return async function* lookUp(run, keyed) {
    const memory = new HeldMemory(run);
    const batcher = new Batcher();
    try {
      const ownerOf = new Map<Row, number>();
      for (const [at, { left, keys }] of keyed.entries()) {
        memory.hold(keys.length * (sizeOfCopy(left) + ownerBytes));
        for (const key of keys) {
          const row = left.slice();
          row[idSlot] = key;
          ownerOf.set(row, at);
        }
        await run.yieldIfDue();
      }
      const found = await readRows(run, reader, keyspace, [...ownerOf.keys()], idSlot);
      const matches: Row[][] = keyed.map(() => []);
      for (const row of await matching(run, condition, found))
        (matches[ownerOf.get(row) as number] as Row[]).push(row);
      for (const [at, { left, keys }] of keyed.entries()) {
        // With ON KEYS, the right side of an outer NEST without keys is MISSING; an empty array where the keys have no documents.
        const isMissing = keys.length === 0 && join.isOuter && !join.condition;
        for (const row of isMissing ? [left] : emit(left, matches[at] as Row[])) {
          const full = batcher.add(row);
          if (full) yield full;
        }
      }
    } finally {
      memory.release();
    }
    if (batcher.size > 0) yield batcher.drain();
  };
}

/** The approximate memory of a place in the map from right rows to left ones. */
const ownerBytes = 40;

/** The scan of document keys under a fetch, for which a lookup join reads the documents. */
export function keyScanOf(right: Operator): KeyScan | undefined {
  if (right.op === 'fetch' && right.input.op === 'key scan') return right.input;
  return undefined;
}

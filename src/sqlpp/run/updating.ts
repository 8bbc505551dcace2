// UPDATE and DELETE: write documents with the CAS that was read, and each document once.
import type { Keyspace } from '../datastore/keyspace.ts';
import { sqlError } from '../errors/sql-error.ts';
import type { DeletePlan, UpdatePlan } from '../plan/change-plans.ts';
import { Binary, newObject, type Value, type ValueObject } from '../values/value.ts';
import { type Assign, compileChanges } from './assigning.ts';
import type { BlockCompiler } from './code.ts';
import { documentBytes } from './encoded-changes.ts';
import { compileProjection } from './projection.ts';
import { emptyRow, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';
import { SeenIds } from './seen-ids.ts';
import type { RowChange, Statement } from './statement.ts';
import { absoluteExpiration, failRow, Writer } from './writing.ts';

export function update(compiler: BlockCompiler, plan: UpdatePlan, found: Pull): Statement {
  const { source } = plan;
  compiler.needWholeDocument(source.slot);
  const writer = new Writer(compiler, source, plan.target.keyspace as Keyspace, plan.returning);
  const assign = compileChanges(compiler, plan.changes, source);
  return writer.statement(plan, async function* updates(run) {
    const changed = new SeenIds(run);
    for await (const rows of found(run, emptyRow(plan.block.size))) {
      const unchanged = unchangedOf(rows, source.idSlot as number, changed);
      const changes: RowChange[] = [];
      await run.each(unchanged, (row) => {
        const write = updateOf(run, row, plan, assign);
        if (write) changes.push(write);
      });
      yield changes;
    }
  });
}

/** Omits documents that the statement has changed already: a scan may return them again. */
function unchangedOf(rows: readonly Row[], idSlot: number, changed: SeenIds): Row[] {
  const unchanged = rows.filter((row) => changed.add(row[idSlot] as string));
  changed.count();
  return unchanged;
}

export function updateOf(
  run: Run,
  row: Row,
  { source }: Pick<UpdatePlan, 'source'>,
  assign: Assign,
): RowChange | undefined {
  const id = row[source.idSlot as number] as string;
  if (row[source.slot] instanceof Binary) return void failRow(run, sqlError(12030, 'UPDATE', id));
  const { document, meta } = assign(run, row, source.slot);
  return {
    row,
    value: document,
    write: {
      kind: 'replace',
      id,
      cas: casOf(row[source.metaSlot as number]),
      expiration: expirationOf(run, meta),
      ...xattrsOf(meta, row[source.metaSlot as number]),
    },
  };
}

function expirationOf(run: Run, meta: Readonly<Record<string, Value>>): number | 'keep' {
  return absoluteExpiration(run, meta['expiration']) ?? (run.context.preserveExpiry ? 'keep' : 0);
}

/** The attributes to write, and as null those to remove that the document has. */
function xattrsOf(
  { xattrs }: Readonly<Record<string, Value>>,
  before: Value,
): { xattrs?: ReadonlyMap<string, Uint8Array | null> } {
  if (typeof xattrs !== 'object' || xattrs === null || Array.isArray(xattrs)) return {};
  const present = ((before as ValueObject | undefined)?.['xattrs'] ?? newObject()) as ValueObject;
  const members = Object.entries(xattrs as ValueObject).filter(
    ([name, value]) => value !== undefined || present[name] !== undefined,
  );
  return {
    xattrs: new Map(
      members.map(([name, value]) => [name, value === undefined ? null : documentBytes(value)]),
    ),
  };
}

function casOf(meta: Value): bigint {
  const cas = (meta as ValueObject | undefined)?.['cas'];
  return typeof cas === 'number' || typeof cas === 'bigint' ? BigInt.asUintN(64, BigInt(cas)) : 0n;
}

export function remove(compiler: BlockCompiler, plan: DeletePlan, found: Pull): Statement {
  const { source, target } = plan;
  compiler.needWholeDocument(source.slot);
  if (!target.keyspace) return removeFromCatalog(compiler, plan, found);
  const writer = new Writer(compiler, source, target.keyspace, plan.returning);
  return writer.statement(plan, async function* deletions(run) {
    const removed = new SeenIds(run);
    for await (const rows of found(run, emptyRow(plan.block.size)))
      yield unchangedOf(rows, source.idSlot as number, removed).map((row) => deleteOf(row, plan));
  });
}

export function deleteOf(row: Row, { source }: Pick<DeletePlan, 'source'>): RowChange {
  return {
    row,
    value: row[source.slot],
    write: {
      kind: 'delete',
      id: row[source.idSlot as number] as string,
      cas: 0n,
      readCas: casOf(row[source.metaSlot as number]),
      expiration: 'keep',
    },
  };
}

function removeFromCatalog(compiler: BlockCompiler, plan: DeletePlan, found: Pull): Statement {
  const returning = plan.returning && compileProjection(compiler, plan.returning);
  return async function* removeEntries(run) {
    const ids: string[] = [];
    const results: Value[] = [];
    for await (const rows of found(run, emptyRow(plan.block.size))) {
      await run.each(rows, (row) => {
        ids.push(row[plan.source.idSlot as number] as string);
        if (returning) results.push(returning(run, row));
      });
    }
    await run.context.datastore.catalog.remove(plan.target.name.collection, ids, run.context);
    run.outcome.mutations += ids.length;
    yield results;
  };
}

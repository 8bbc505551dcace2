// MERGE: each row of the source updates, deletes or inserts one document of the target.
import type { Keyspace } from '../datastore/keyspace.ts';
import { sqlError } from '../errors/sql-error.ts';
import type { InsertValues, MergePlan } from '../plan/change-plans.ts';
import { jsonText } from '../values/json-text.ts';
import { isTrue, typeName } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import { compileChanges } from './assigning.ts';
import type { BlockCompiler, Code } from './code.ts';
import { DocumentReader } from './document-reader.ts';
import { valuesCode, writeOf } from './inserting.ts';
import { emptyRow, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';
import { SeenIds } from './seen-ids.ts';
import type { RowChange, Statement } from './statement.ts';
import { deleteOf, updateOf } from './updating.ts';
import { failureOf, Writer } from './writing.ts';

export function merge(compiler: BlockCompiler, plan: MergePlan, found: Pull): Statement {
  const { source: target } = plan;
  const keyspace = plan.target.keyspace as Keyspace;
  compiler.needWholeDocument(target.slot);
  const writer = new Writer(compiler, target, keyspace, plan.returning);
  const reader = plan.key ? new DocumentReader(compiler, target, true) : undefined;
  const key = plan.key && compiler.code(plan.key);
  const limit = plan.limit && compiler.code(plan.limit);
  const actions = compileActions(compiler, plan, key);
  return writer.statement(plan, async function* changes(run) {
    let remaining = limit
      ? await run.count(limit, emptyRow(plan.block.size), 'LIMIT')
      : Number.POSITIVE_INFINITY;
    const state: MergeState = { changed: new SeenIds(run), inserted: new SeenIds(run) };
    for await (const rows of found(run, emptyRow(plan.block.size))) {
      const ids = key && (await keysOf(run, rows, key));
      if (reader && ids) await lookUp(run, rows, reader, keyspace, ids);
      const writes: RowChange[] = [];
      const failure = await failureOf(
        run.each(rows, (row, at) => {
          if (remaining <= 0) return;
          if (ids && typeof ids[at] !== 'string') throw wrongKey(ids[at]);
          const added = actions(run, row, state);
          writes.push(...added);
          remaining -= added.length;
        }),
      );
      yield writes;
      if (failure) throw failure;
      state.changed.count();
      state.inserted.count();
      if (remaining <= 0) return;
    }
  });
}

/** The values of ON KEY. */
async function keysOf(run: Run, rows: readonly Row[], key: Code): Promise<Value[]> {
  const ids: Value[] = [];
  await run.each(rows, (row, at) => {
    ids[at] = run.resolve(key.run(row, run.evaluation));
  });
  return ids;
}

const wrongKey = (value: Value): Error =>
  sqlError(
    5030,
    `Invalid MERGE key ${value === undefined ? 'missing' : jsonText(value)} of type ${typeName(value)}.`,
  );

/** Reads the target's documents with these keys. */
async function lookUp(
  run: Run,
  rows: readonly Row[],
  reader: DocumentReader,
  keyspace: Keyspace,
  ids: readonly Value[],
): Promise<void> {
  const wanted = rows
    .map((row, at) => ({ row, id: ids[at] }))
    .filter((each): each is { row: Row; id: string } => typeof each.id === 'string');
  const documents = await run.context.datastore.documents.read(
    keyspace,
    wanted.map(({ id }) => id),
    reader.options(run),
  );
  wanted.forEach(({ row }, at) => {
    const document = documents[at];
    if (document) reader.fill(row, document);
  });
}

interface MergeState {
  /** Documents that this MERGE has updated or deleted. */
  readonly changed: SeenIds;
  readonly inserted: SeenIds;
}

type Actions = (run: Run, row: Row, state: MergeState) => RowChange[];

function compileActions(compiler: BlockCompiler, plan: MergePlan, key: Code | undefined): Actions {
  const { source: target } = plan;
  const assign = plan.update && compileChanges(compiler, plan.update.changes, target);
  const updateIf = plan.update?.where && compiler.code(plan.update.where);
  const deleteIf = plan.delete?.where && compiler.code(plan.delete.where);
  const insertIf = plan.insert?.where && compiler.code(plan.insert.where);
  const values = plan.insert && insertCode(compiler, plan, key);
  const holds = (run: Run, row: Row, code: Code | undefined): boolean =>
    !code || isTrue(code.run(row, run.evaluation));
  return (run, row, state) => {
    const id = row[target.idSlot as number];
    if (typeof id !== 'string') {
      if (!values || !holds(run, row, insertIf)) return [];
      const write = writeOf(run, 'insert', values, row.slice(), undefined);
      if (!write) return [];
      if (state.inserted.has(write.write.id)) throw sqlError(5330, write.write.id);
      state.inserted.add(write.write.id);
      // As published: RETURNING of an inserted document sees the document alone, not the row of the source.
      return [{ ...write, row: emptyRow(plan.block.size) }];
    }
    const isUpdated = assign !== undefined && holds(run, row, updateIf);
    const isDeleted = plan.delete !== undefined && holds(run, row, deleteIf);
    if (!isUpdated && !isDeleted) return [];
    if (state.changed.has(id)) throw sqlError(5320, id);
    const write = isDeleted
      ? deleteOf(row, plan)
      : updateOf(run, row, plan, assign as NonNullable<typeof assign>);
    if (!write) return [];
    state.changed.add(id);
    return [write];
  };
}

/** With ON KEY, its expression is the key of the new document. */
function insertCode(
  compiler: BlockCompiler,
  plan: MergePlan,
  key: Code | undefined,
): { key: Code; value: Code | undefined; options: Code | undefined } {
  const { values } = plan.insert as NonNullable<MergePlan['insert']>;
  if (values.key) return valuesCode(compiler, values as InsertValues);
  return {
    key: key as Code,
    value: values.value && compiler.code(values.value),
    options: values.options && compiler.code(values.options),
  };
}

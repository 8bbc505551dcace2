// INSERT and UPSERT: computes the documents from VALUES, or from the results of a SELECT.
import type { Keyspace } from '../datastore/keyspace.ts';
import { sqlError } from '../errors/sql-error.ts';
import type { InsertPlan, InsertValues } from '../plan/change-plans.ts';
import { jsonText } from '../values/json-text.ts';
import { typeName } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import type { BlockCompiler, Code } from './code.ts';
import { type InnerQuery, resultsOf } from './combining.ts';
import { batchRows, emptyRow, type Row } from './row.ts';
import type { Run } from './run.ts';
import type { RowChange, Statement } from './statement.ts';
import { failRow, Writer, writeOptions } from './writing.ts';

export interface ValuesCode {
  readonly key: Code;
  readonly value: Code | undefined;
  readonly options: Code | undefined;
}

/** The compiled expressions of KEY, VALUE and OPTIONS. */
export function valuesCode(compiler: BlockCompiler, values: InsertValues): ValuesCode {
  return {
    key: compiler.code(values.key),
    value: values.value && compiler.code(values.value),
    options: values.options && compiler.code(values.options),
  };
}

export function insert(compiler: BlockCompiler, plan: InsertPlan, query: InnerQuery | undefined): Statement {
  const writer = new Writer(compiler, plan.source, plan.target.keyspace as Keyspace, plan.returning);
  const { rows, kind } = plan;
  if (rows.kind === 'values') {
    const codes = rows.values.map((values) => valuesCode(compiler, values));
    return writer.statement(plan, async function* insertedValues(run) {
      for (let at = 0; at < codes.length; at += batchRows) {
        const changes: RowChange[] = [];
        await run.each(codes.slice(at, at + batchRows), (code) => {
          const write = writeOf(run, kind, code, emptyRow(plan.block.size), undefined);
          if (write) changes.push(write);
        });
        yield changes;
      }
    });
  }
  const code = valuesCode(compiler, rows.values);
  return writer.statement(plan, async function* insertedResults(run) {
    for await (const results of resultsOf(run, query as InnerQuery, emptyRow(plan.block.size))) {
      const changes: RowChange[] = [];
      await run.each(results, (result) => {
        const row = emptyRow(plan.block.size);
        row[rows.rowSlot] = result;
        const write = writeOf(run, kind, code, row, result);
        if (write) changes.push(write);
      });
      yield changes;
    }
  });
}

const errorCodes = {
  insert: { key: 5050, value: 5060, keyType: 5070, optionsType: 5071 },
  upsert: { key: 5072, value: 5075, keyType: 5078, optionsType: 5079 },
} as const;

/** `whole`: the document if the statement has no VALUE. undefined if the row is invalid; its error is recorded. */
export function writeOf(
  run: Run,
  kind: 'insert' | 'upsert',
  code: ValuesCode,
  row: Row,
  whole: Value,
): RowChange | undefined {
  const key = run.resolve(code.key.run(row, run.evaluation));
  const value = code.value ? code.value.run(row, run.evaluation) : whole;
  const options = run.resolve(code.options?.run(row, run.evaluation));
  const codes = errorCodes[kind];
  if (key === undefined)
    return void failRow(run, sqlError(codes.key, value === undefined ? 'missing' : jsonText(value)));
  if (typeof key !== 'string')
    return void failRow(run, sqlError(codes.keyType, key === null ? 'null' : jsonText(key), typeName(key)));
  if (value === undefined) return void failRow(run, sqlError(codes.value, key));
  if (options !== undefined && (typeof options !== 'object' || options === null || Array.isArray(options)))
    return void failRow(run, sqlError(codes.optionsType, jsonText(options), typeName(options)));
  const { expiration, xattrs } = writeOptions(run, options);
  return {
    row,
    value,
    write: {
      kind,
      id: key,
      cas: 0n,
      expiration: expiration ?? (kind === 'upsert' && run.context.preserveExpiry ? 'keep' : 0),
      ...(xattrs && { xattrs }),
    },
  };
}

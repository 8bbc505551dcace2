// Writes documents in batches, and converts outcomes to errors, counts and RETURNING rows.
import type { DocumentWrite, WriteOutcome } from '../datastore/documents.ts';
import { type Keyspace, keyspaceText } from '../datastore/keyspace.ts';
import { type SqlError, type SqlErrorDetails, sqlError, sqlErrorWith } from '../errors/sql-error.ts';
import type { Source } from '../plan/block.ts';
import type { ChangePlan } from '../plan/change-plans.ts';
import type { LogicalProjection } from '../plan/logical.ts';
import { valueAt } from '../values/json-scan.ts';
import { newObject, type Value, type ValueObject } from '../values/value.ts';
import type { BlockCompiler } from './code.ts';
import { DelayedWrites } from './delayed-writes.ts';
import { casValue } from './documents.ts';
import { documentBytes, encoded } from './encoded-changes.ts';
import { compileProjection } from './projection.ts';
import type { Row } from './row.ts';
import type { Run } from './run.ts';
import type { RowChange, RowWrite, Statement } from './statement.ts';

/** The changes of a statement, in batches: before their documents are encoded, and after. */
type Changes = (run: Run) => AsyncIterable<readonly RowChange[]>;
type Writes = (run: Run) => AsyncIterable<readonly RowWrite[]>;

type FailedWrite = Exclude<WriteOutcome, { status: 'done' | 'unknown' }>;

export class Writer {
  readonly #source: Source;
  readonly #keyspace: Keyspace;
  readonly #returning: ((run: Run, row: Row) => Value) | undefined;

  constructor(
    compiler: BlockCompiler,
    source: Source,
    keyspace: Keyspace,
    returning: LogicalProjection | undefined,
  ) {
    this.#source = source;
    this.#keyspace = keyspace;
    this.#returning = returning && compileProjection(compiler, returning);
  }

  /** The statement that writes these changes. */
  statement({ writesAtEnd }: Pick<ChangePlan, 'writesAtEnd'>, changes: Changes): Statement {
    const writes: Writes = (run) => encoded(run, changes(run));
    return (run) => (writesAtEnd ? this.#writeAtEnd(run, writes) : this.#writeEach(run, writes));
  }

  async *#writeEach(run: Run, changes: Writes): AsyncGenerator<readonly Value[]> {
    for await (const writes of changes(run)) {
      yield await this.write(run, writes);
      await run.yieldIfDue();
    }
  }

  async *#writeAtEnd(run: Run, changes: Writes): AsyncGenerator<readonly Value[]> {
    const delayed = new DelayedWrites(run, this.#returning !== undefined);
    try {
      const failure = await failureOf(gather(run, changes, delayed));
      run.context.signal.throwIfAborted();
      yield* this.#writeEach(run, () => delayed.batches());
      if (failure) throw failure;
    } finally {
      await delayed.close();
    }
  }

  /** Makes the writes, and returns the RETURNING rows of those that succeed. */
  async write(run: Run, wanted: readonly RowWrite[]): Promise<Value[]> {
    const writes = wanted.filter(({ write }) => this.#mayWrite(run, write));
    if (writes.length === 0) return [];
    const { documents } = run.context.datastore;
    const { durability, signal } = run.context;
    const outcomes = await documents.write(
      this.#keyspace,
      writes.map(({ write }) => write),
      { durability, signal },
    );
    const done: Row[] = [];
    const failed: { write: DocumentWrite; outcome: FailedWrite }[] = [];
    let failure: Error | undefined;
    for (const [at, outcome] of outcomes.entries()) {
      const { row, write, value } = writes[at] as RowWrite;
      if (outcome.status === 'unknown') {
        failure = outcome.error;
        continue;
      }
      if (outcome.status !== 'done') {
        failed.push({ write, outcome });
        continue;
      }
      run.outcome.mutations++;
      row[this.#source.slot] = value;
      row[this.#source.idSlot as number] = write.id;
      row[this.#source.metaSlot as number] = writtenMeta(
        write,
        outcome.cas,
        row[this.#source.metaSlot as number],
      );
      done.push(row);
    }
    // After the loop, since the error limit may end the statement, whose other writes are made and count.
    for (const { write, outcome } of failed) this.#fail(run, write, outcome);
    if (failure) throw failure;
    return this.#results(run, done);
  }

  /** Whether the data service can store the expiration; the row fails if not. Checked here because a transaction, which only stages the document now, could not store it once it is committed. */
  #mayWrite(run: Run, write: DocumentWrite): boolean {
    if (write.expiration === 'keep' || write.expiration <= expirationMax) return true;
    const reason = `expiration: must be at most ${expirationMax} (seconds since 1970)`;
    failRow(run, this.#errorOf(write, { status: 'failed', reason, retryable: false }));
    return false;
  }

  async #results(run: Run, rows: readonly Row[]): Promise<Value[]> {
    const returning = this.#returning;
    if (!returning) return [];
    const results: Value[] = [];
    await run.each(rows, (row) => results.push(returning(run, row)));
    return results;
  }

  #fail(run: Run, write: DocumentWrite, outcome: FailedWrite): void {
    // DELETE succeeds for a document that is deleted already.
    if (write.kind === 'delete' && outcome.status === 'not found') return;
    failRow(run, this.#errorOf(write, outcome));
  }

  #errorOf(write: DocumentWrite, outcome: FailedWrite): SqlError {
    const operation = write.kind === 'replace' ? 'update' : write.kind;
    const failed = `Failed to perform ${operation} on key ${write.id}`;
    const target = { keyspace: keyspaceText(this.#keyspace.name), document_key: write.id };
    switch (outcome.status) {
      case 'exists':
        return write.kind === 'insert'
          ? otherDmlError(
              { reason: { ...target, code: 17012, message: `Duplicate Key: ${write.id}` } },
              `${failed} - cause: Duplicate Key: ${write.id}`,
            )
          : mismatch(failed, target);
      case 'cas mismatch':
        return mismatch(failed, target);
      case 'not found':
        return otherDmlError(
          { reason: { ...target, code: 17014, message: `Key not found : ${write.id}` } },
          `${failed} - cause: Key not found : ${write.id}`,
        );
      case 'locked':
        return otherDmlError(
          { reason: target, isRetryable: true },
          `${failed} - cause: the document is locked`,
        );
      case 'failed':
        return otherDmlError(
          { reason: target, isRetryable: outcome.retryable },
          `${failed} - cause: ${outcome.reason}`,
        );
    }
  }
}

function mismatch(failed: string, target: Readonly<Record<string, unknown>>): SqlError {
  const reason = { ...target, code: 12033, message: 'CAS mismatch' };
  return sqlErrorWith(12009, { reason }, 'CAS mismatch', failed);
}

/** SDKs take each error 12009 whose text contains "CAS mismatch" for one, some of them whatever its reason is. */
const otherDmlError = (details: SqlErrorDetails, text: string): SqlError =>
  sqlErrorWith(12009, details, 'concurrent modification', text);

function writtenMeta(write: DocumentWrite, cas: bigint, before: Value): Value {
  const meta = newObject();
  if (typeof before === 'object' && before !== null) Object.assign(meta, before);
  meta['cas'] = casValue(cas);
  meta['id'] = write.id;
  meta['flags'] ??= 0;
  meta['type'] ??= 'json';
  if (write.expiration !== 'keep') meta['expiration'] = write.expiration;
  meta['expiration'] ??= 0;
  if (write.xattrs) meta['xattrs'] = writtenXattrs(write.xattrs, meta['xattrs']);
  return meta;
}

function writtenXattrs(written: NonNullable<DocumentWrite['xattrs']>, before: Value): Value {
  const xattrs = newObject();
  if (typeof before === 'object' && before !== null) Object.assign(xattrs, before);
  for (const [name, bytes] of written)
    xattrs[name] = bytes === null ? undefined : valueAt(bytes, 0, bytes.length);
  return xattrs;
}

async function gather(run: Run, changes: Writes, delayed: DelayedWrites): Promise<void> {
  for await (const writes of changes(run)) {
    await delayed.add(writes);
    await run.yieldIfDue();
  }
}

/** Returns the error of a failed row, so that the changes of the rows before it are still written. */
export async function failureOf(work: Promise<void> | undefined): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error ?? new Error('a row failed');
  }
}

/** Records a failed row; the statement continues up to the request's error limit. */
export function failRow(run: Run, error: SqlError): void {
  run.outcome.errors.push(error);
  if (run.outcome.errors.length >= run.context.errorLimit && run.context.errorLimit > 0) throw sqlError(1195);
}

/** OPTIONS {"expiration": n, "xattrs": …}. Up to 30 days it is relative to now, beyond it seconds since 1970. */
export function writeOptions(
  run: Run,
  options: Value,
): { expiration: number | undefined; xattrs: ReadonlyMap<string, Uint8Array> | undefined } {
  const object = run.resolve(options);
  if (typeof object !== 'object' || object === null || Array.isArray(object))
    return { expiration: undefined, xattrs: undefined };
  const members = object as ValueObject;
  const xattrs = run.resolve(members['xattrs']);
  return {
    expiration: absoluteExpiration(run, run.resolve(members['expiration'])),
    xattrs:
      typeof xattrs === 'object' && xattrs !== null && !Array.isArray(xattrs)
        ? xattrBytes(xattrs as ValueObject)
        : undefined,
  };
}

/** The data service stores expirations in 32 bits. */
const expirationMax = 2 ** 32 - 1;
/** 30 days: the most seconds of a relative expiration. */
const relativeSecondsMax = 30 * 24 * 60 * 60;

/** The expiration in seconds since 1970, 0: never; undefined for a value that is no number. */
export function absoluteExpiration(run: Run, seconds: Value): number | undefined {
  if (typeof seconds !== 'number' && typeof seconds !== 'bigint') return undefined;
  const wholeSeconds = Math.trunc(Number(seconds));
  if (wholeSeconds <= 0) return 0;
  return wholeSeconds <= relativeSecondsMax
    ? Math.floor(run.context.clockMs() / 1000) + wholeSeconds
    : wholeSeconds;
}

function xattrBytes(members: ValueObject): ReadonlyMap<string, Uint8Array> {
  return new Map(Object.entries(members).map(([name, value]) => [name, documentBytes(value)]));
}

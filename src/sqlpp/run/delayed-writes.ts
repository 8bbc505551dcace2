// The changes of a statement that also reads the keyspace it changes: all are computed before the first one is written. Until then they
// are kept encoded: up to `spillBytes` of the request in memory, the others in a scratch file.
import type { DocumentWrite } from '../datastore/documents.ts';
import { Binary, type Value } from '../values/value.ts';
import type { ScratchFile } from './engine.ts';
import { batchRows, type Row } from './row.ts';
import type { Run } from './run.ts';
import { rowsIn, SpillWriter } from './spilled-rows.ts';
import type { RowWrite } from './statement.ts';

/** A part, which is stored as a whole, ends at this size, or earlier at `batchRows` changes: documents may be large. */
const partBytes = 256 << 10;

export class DelayedWrites {
  readonly #run: Run;
  /** Whether the rows are kept with the changes, because RETURNING reads them. */
  readonly #hasRows: boolean;
  readonly #part = new SpillWriter();
  /** The number of changes in the unfinished part. */
  #inPart = 0;
  /** The first parts; the others are in the file. */
  readonly #inMemory: Uint8Array[] = [];
  readonly #inFile: { offset: number; length: number }[] = [];
  #file: ScratchFile | undefined;
  #heldBytes = 0;

  constructor(run: Run, hasRows: boolean) {
    this.#run = run;
    this.#hasRows = hasRows;
  }

  async add(writes: readonly RowWrite[]): Promise<void> {
    for (const write of writes) {
      this.#part.add(encoded(write, this.#hasRows));
      if (++this.#inPart === batchRows || this.#part.size >= partBytes) await this.#endPart();
    }
  }

  /** The changes in the order in which they were added. Call after the last `add`. */
  async *batches(): AsyncGenerator<RowWrite[]> {
    if (this.#inPart > 0) await this.#endPart();
    for (let part = this.#inMemory.shift(); part; part = this.#inMemory.shift()) {
      yield rowsIn(part).map(decoded);
      this.#release(part.length);
    }
    for (const position of this.#inFile)
      yield rowsIn(await (this.#file as ScratchFile).read(position)).map(decoded);
  }

  async close(): Promise<void> {
    this.#release(this.#heldBytes);
    await this.#file?.close();
    this.#file = undefined;
  }

  async #endPart(): Promise<void> {
    this.#inPart = 0;
    const part = this.#part.drain();
    if (this.#file === undefined && this.#heldBytes + part.length <= this.#run.context.spillBytes) {
      this.#run.hold(part.length);
      this.#heldBytes += part.length;
      this.#inMemory.push(part);
      return;
    }
    this.#file ??= await this.#run.context.scratch();
    this.#inFile.push(await this.#file.append(part));
  }

  #release(bytes: number): void {
    this.#heldBytes -= bytes;
    this.#run.release(bytes);
  }
}

function encoded({ row, write, value }: RowWrite, hasRow: boolean): Value[] {
  const { kind, id, bytes, cas, readCas, expiration, xattrs } = write;
  const attributes = xattrs && [...xattrs].map(([name, json]) => [name, json && new Binary(json)]);
  const change: Value[] = [kind, id, new Binary(bytes), cas, readCas, expiration, attributes];
  return hasRow ? [...change, row, value] : change;
}

function decoded([
  kind,
  id,
  bytes,
  cas,
  readCas,
  expiration,
  attributes,
  row = [],
  value,
]: Value[]): RowWrite {
  const write: DocumentWrite = {
    kind: kind as DocumentWrite['kind'],
    id: id as string,
    bytes: (bytes as Binary).bytes,
    cas: unsigned(cas as bigint),
    ...(readCas !== undefined && { readCas: unsigned(readCas as bigint) }),
    expiration: expiration as DocumentWrite['expiration'],
    ...(attributes !== undefined && { xattrs: attributesIn(attributes as AttributePairs) }),
  };
  return { row: row as Row, write, value };
}

type AttributePairs = readonly (readonly [string, Binary | null])[];

const attributesIn = (pairs: AttributePairs): NonNullable<DocumentWrite['xattrs']> =>
  new Map(pairs.map(([name, json]) => [name, json === null ? null : json.bytes]));

/** The encoding of rows has signed integers of 64 bits. */
const unsigned = (integer: bigint): bigint => BigInt.asUintN(64, integer);

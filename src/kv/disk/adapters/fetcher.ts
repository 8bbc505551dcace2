// Reads single documents, usually over a separate read-only connection: in WAL mode a reader never waits for a commit, nor a commit
// for a reader.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { CutWriter, stateOfVbucket } from '#kv/data/cut.ts';
import type { ExpiredKeysRequest, FetchedItems, LargeItems } from '../../data/disk-engine.ts';
import { type DocumentKey, decodeKeys, encodeKeys, endOfPrefix } from '../../data/document-keys.ts';
import { readerSql, sql } from '../schema.ts';
import { arrayStatement, type DocRow, RowReader } from './row-reader.ts';
import { inOneTransaction } from './transaction.ts';

/** A fetch of more keys is several read transactions, since a long one delays checkpoints. */
const keysPerRead = 512;
/** The most large values in a page. It ends earlier with the value that makes it `largePageBytes` long. */
const largePageRows = 16;
const largePageBytes = 256 * 1024;

/** A key as `encodeKeys` encodes it, with its expiry. */
interface EncodedExpiredKey {
  readonly expiry: number;
  readonly encoded: Uint8Array;
}

export interface EncodedExpiredRequest extends Omit<ExpiredKeysRequest, 'after'> {
  readonly after: EncodedExpiredKey | null;
}

export interface EncodedExpiredKeys {
  readonly encoded: Uint8Array;
  /** By key. */
  readonly expiries: readonly number[];
}

/** Vbucket, key, expiry. */
type ExpiredRow = [number, Uint8Array, number];

export class Fetcher {
  private readonly db: DatabaseSync;
  private readonly row: StatementSync;
  private readonly expired: StatementSync;
  private readonly sameExpiry: StatementSync;
  private readonly keys: StatementSync;
  private readonly vbucketIds: StatementSync;
  private readonly large: StatementSync;
  private readonly reader: RowReader;

  static open(path: string): Fetcher {
    const db = new DatabaseSync(path, { readOnly: true });
    db.exec(readerSql);
    return new Fetcher(db);
  }

  constructor(db: DatabaseSync) {
    this.db = db;
    this.row = arrayStatement(this.db, sql.rowOf);
    this.expired = arrayStatement(this.db, sql.expired);
    this.sameExpiry = arrayStatement(this.db, sql.sameExpiry);
    this.keys = arrayStatement(this.db, sql.collectionKeys);
    this.vbucketIds = arrayStatement(this.db, sql.vbucketIds);
    this.large = arrayStatement(this.db, sql.largeRows);
    this.reader = new RowReader(this.db);
  }

  fetchItems(encoded: Uint8Array): FetchedItems {
    const keys = decodeKeys(encoded);
    const writer = new CutWriter();
    const damaged: number[] = [];
    for (let from = 0; from < keys.length; from += keysPerRead) {
      this.read(keys, from, writer, damaged);
    }
    return { batch: writer.takeAll(), damaged };
  }

  expiredKeys({ after, atSeconds, limit }: EncodedExpiredRequest): EncodedExpiredKeys {
    const rows = after === null ? [] : this.restOfExpiry(after, limit);
    const left = limit - rows.length;
    const { expiry = 0 } = after ?? {};
    if (left > 0) rows.push(...(this.expired.all(expiry, atSeconds, left) as unknown as ExpiredRow[]));
    return {
      encoded: encodeKeys(rows.map(([vb, key]) => ({ vb, key: Buffer.from(key) }))),
      expiries: rows.map(([, , at]) => at),
    };
  }

  /** The keys after this one that have the same expiry. */
  private restOfExpiry({ encoded, expiry }: EncodedExpiredKey, limit: number): ExpiredRow[] {
    const [{ key, vb }] = decodeKeys(encoded) as [DocumentKey];
    return this.sameExpiry.all(expiry, vb, key, limit) as unknown as ExpiredRow[];
  }

  collectionKeys(prefix: Uint8Array, encodedAfter: Uint8Array, limit: number): Uint8Array {
    const [after] = decodeKeys(encodedAfter) as [DocumentKey];
    const found: DocumentKey[] = [];
    for (const [vb] of this.vbucketIds.all(after.vb) as unknown as [number][]) {
      const from = vb === after.vb && after.key.length > 0 ? after.key : prefix;
      const rows = this.keys.all(vb, from, endOfPrefix(prefix), limit - found.length);
      for (const [key] of rows as unknown as [Uint8Array][]) found.push({ vb, key: Buffer.from(key) });
      if (found.length >= limit) break;
    }
    return encodeKeys(found);
  }

  /** Throws when a row fails its check. */
  largeItems(after: number): LargeItems {
    const writer = new CutWriter();
    let next: number | null = null;
    for (const found of this.large.iterate(after, largePageRows)) {
      const [id, vb, ...row] = found as unknown as [number, number, ...unknown[]];
      writer.begin(0);
      this.reader.write(vb, row, writer);
      writer.finish(stateOfVbucket(vb));
      next = id;
      if (writer.bytes >= largePageBytes) break;
    }
    return { batch: writer.takeAll(), next };
  }

  close(): void {
    this.db.close();
  }

  /** Row and large value must be read in one transaction: a commit in between removes the old value. */
  private read(keys: readonly DocumentKey[], from: number, writer: CutWriter, damaged: number[]): void {
    inOneTransaction(this.db, () => {
      const to = Math.min(from + keysPerRead, keys.length);
      for (let i = from; i < to; i++) if (!this.readOne(keys[i] as DocumentKey, writer)) damaged.push(i);
    });
  }

  /** False when a row fails its check. */
  private readOne({ vb, key }: DocumentKey, writer: CutWriter): boolean {
    let row: DocRow | undefined;
    try {
      row = this.row.get(vb, key) as unknown as DocRow | undefined;
    } catch (error) {
      if (isBroken(error)) return false;
      throw error;
    }
    if (row === undefined) return true;
    writer.begin(0);
    try {
      this.reader.write(vb, row, writer);
    } catch {
      writer.abandon();
      return false;
    }
    writer.finish(stateOfVbucket(vb));
    return true;
  }
}

/** SQLITE_IOERR, SQLITE_CORRUPT and SQLITE_NOTADB: damage to pages on the way to this row; other rows may be readable. */
const isBroken = (error: unknown): boolean =>
  [10, 11, 26].includes(((error as { errcode?: number } | null)?.errcode ?? 0) & 0xff);

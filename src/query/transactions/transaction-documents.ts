// The documents and indexes that the statements of a transaction see: those of the data service, overlaid by the transaction's changes. Writes
// are held as changes and reach the data service with the commit.
import type { Clock } from '#ports/clock.ts';
import type {
  Documents,
  DocumentWrite,
  ReadOptions,
  ScanOptions,
  StoredDocument,
  WriteOptions,
  WriteOutcome,
} from '#sqlpp/datastore/documents.ts';
import type { IndexDefinition, Indexes, IndexScan } from '#sqlpp/datastore/indexes.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { isDocumentId } from '../data/encoded-keys.ts';
import { CommittedDocuments } from './committed-documents.ts';
import type { OtherAttempts } from './other-attempts.ts';
import type { StagedChange, StagedKind } from './staged-change.ts';
import type { Transaction } from './transaction.ts';

const noBytes = new Uint8Array();

export class TransactionDocuments implements Documents {
  private readonly stored: Documents;
  private readonly transaction: Transaction;
  private readonly committed: CommittedDocuments;
  private readonly clock: Clock;
  private isClosed = false;

  constructor(stored: Documents, transaction: Transaction, others: OtherAttempts, clock: Clock) {
    this.stored = stored;
    this.transaction = transaction;
    this.committed = new CommittedDocuments(stored, others);
    this.clock = clock;
  }

  /** Call when the statement has ended: its late writes are refused. */
  close(): void {
    this.isClosed = true;
  }

  async read(
    keyspace: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
  ): Promise<(StoredDocument | undefined)[]> {
    const changes = this.transaction.changes.changesOf(keyspace);
    const others = ids.filter((id) => needsStored(changes.get(id), options));
    const committed = await this.committed.read(keyspace, others, options);
    const found = new Map(others.map((id, at) => [id, committed[at]]));
    return ids.map((id) => {
      const change = changes.get(id);
      return change === undefined ? found.get(id) : documentOf(change, found.get(id));
    });
  }

  async *scan(keyspace: Keyspace, options: ScanOptions): AsyncIterable<readonly StoredDocument[]> {
    const changes = this.transaction.changes.changesOf(keyspace);
    yield* this.committed.scan(keyspace, options, (id) => !changes.has(id));
    const staged = await this.read(keyspace, [...changes.keys()], options);
    if (staged.length > 0) yield staged.filter((document) => document !== undefined);
  }

  async count(keyspace: Keyspace, signal: AbortSignal): Promise<number> {
    let count = await this.stored.count(keyspace, signal);
    for (const { kind, stagedByClient } of this.transaction.changes.changesOf(keyspace).values())
      if (kind === 'insert') count++;
      else if (kind === 'remove' && stagedByClient !== 'insert') count--; // staged inserts are not counted by the data service
    return count;
  }

  async write(
    keyspace: Keyspace,
    writes: readonly DocumentWrite[],
    { signal }: WriteOptions,
  ): Promise<WriteOutcome[]> {
    const { transaction } = this;
    const unknown = writes.filter((write) => needsReading(write) && !this.stagedChange(keyspace, write.id));
    const ids = [...new Set(unknown.map(({ id }) => id))];
    const read = ids.length === 0 ? [] : await this.read(keyspace, ids, { signal });
    const stored = new Map(ids.map((id, at) => [id, read[at]]));
    if (this.isClosed) throw sqlError(5011, 'the statement has ended');
    return writes.map((write) => {
      const outcome = this.writeOne(keyspace, write, stored.get(write.id));
      transaction.checkMemory();
      return outcome;
    });
  }

  /** @throws SqlError that ends the statement: a transaction's statement changes everything or nothing */
  private writeOne(
    keyspace: Keyspace,
    write: DocumentWrite,
    stored: StoredDocument | undefined,
  ): WriteOutcome {
    if (write.xattrs !== undefined && write.xattrs.size > 0)
      throw sqlError(17099, 'extended attributes cannot be changed in a transaction');
    if (!isDocumentId(write.id))
      return { status: 'failed', reason: 'the key is empty or longer than 250 bytes', retryable: false };
    const { changes } = this.transaction;
    const before = this.stagedChange(keyspace, write.id);
    const kind = before === undefined ? kindOf(write, stored) : kindOver(write, before);
    if (kind === 'nothing') return { status: 'not found' };
    const ownCas = changes.nextCas(this.clock.wallMs());
    if (before !== undefined && kind === 'undone') changes.drop(before);
    else
      changes.put({
        keyspace,
        id: write.id,
        kind: kind as StagedKind,
        ownCas,
        isUnstaged: true,
        bytes: kind === 'remove' ? noBytes : Buffer.from(write.bytes),
        cas: before?.cas ?? (kind === 'insert' ? 0n : readCasOf(write) || (stored?.cas ?? 0n)),
        expiration: expirationOver(write, before),
        stagedByClient: before?.stagedByClient ?? null,
      });
    return { status: 'done', cas: ownCas };
  }

  private stagedChange(keyspace: Keyspace, id: string): StagedChange | undefined {
    return this.transaction.changes.newest({ keyspace, id });
  }
}

/** 0n: the statement has not read the document. */
const readCasOf = ({ cas, readCas }: DocumentWrite): bigint => cas || (readCas ?? 0n);

const needsReading = (write: DocumentWrite): boolean =>
  write.kind === 'insert' || write.kind === 'upsert' || readCasOf(write) === 0n;

/** The kind of a first write to a document; 'nothing': the document to delete does not exist. */
function kindOf(write: DocumentWrite, stored: StoredDocument | undefined): StagedKind | 'nothing' {
  const exists = stored !== undefined || !needsReading(write);
  switch (write.kind) {
    case 'insert':
      if (exists) throw sqlError(17012, '', write.id);
      return 'insert';
    case 'upsert':
      return exists ? 'replace' : 'insert';
    case 'replace':
      if (!exists) throw sqlError(17014, '', write.id);
      return 'replace';
    case 'delete':
      return exists ? 'remove' : 'nothing';
  }
}

/** The kind of a write to a document that the transaction has changed already; 'undone': the write deletes what the transaction has inserted. */
function kindOver(write: DocumentWrite, before: StagedChange): StagedKind | 'nothing' | 'undone' {
  const { kind, id } = write;
  const exists = before.kind !== 'remove';
  if (kind === 'insert' && exists) throw sqlError(17012, '', id);
  const read = readCasOf(write);
  if (read !== 0n && exists && kind !== 'insert' && kind !== 'upsert' && read !== before.ownCas)
    throw sqlError(17015, kind === 'delete' ? 'DELETE' : 'UPDATE', String(before.ownCas), String(read), id);
  const base = before.cas === 0n || before.stagedByClient === 'insert' ? 'insert' : 'replace';
  switch (kind) {
    case 'insert':
    case 'upsert':
      return base;
    case 'replace':
      if (!exists) throw sqlError(17014, '', id);
      return base;
    case 'delete':
      if (!exists) return 'nothing';
      return before.cas === 0n ? 'undone' : 'remove';
  }
}

/** The expiration that a write keeps is that of the transaction's earlier version of the document. */
function expirationOver({ expiration }: DocumentWrite, before?: StagedChange): StagedChange['expiration'] {
  if (expiration !== 'keep' || before === undefined) return expiration;
  return before.kind === 'remove' ? 0 : before.expiration;
}

/**
 * Whether the data service must be asked about a document: the transaction has not changed it, or keeps an expiration or attributes of it that are
 * wanted.
 */
function needsStored(change: StagedChange | undefined, { expiration, xattrs = [] }: ReadOptions): boolean {
  if (change === undefined) return true;
  if (change.kind !== 'replace') return false;
  return xattrs.length > 0 || (expiration === true && change.expiration === 'keep');
}

/** undefined if the transaction has removed the document. `stored`: the document that it replaces, if something of that is needed. */
function documentOf(
  { kind, id, bytes, ownCas, expiration }: StagedChange,
  stored: StoredDocument | undefined,
): StoredDocument | undefined {
  if (kind === 'remove') return undefined;
  return {
    id,
    bytes,
    isJson: true,
    cas: ownCas,
    flags: 0,
    expiration: expiration === 'keep' ? (stored?.expiration ?? 0) : expiration,
    ...(stored?.xattrs && { xattrs: stored.xattrs }),
  };
}

/** The indexes that a statement of a transaction scans: for documents that the transaction has changed, with rows computed from the changes. */
export function transactionIndexes(
  indexes: Indexes,
  { changes }: Transaction,
  documents: Pick<Documents, 'read'>,
): Indexes {
  /** By index id. The documents stay the same during the statement, which may scan an index many times. */
  const changedByIndex = new Map<string, IndexScan['changed']>();
  const overlaid = async <T extends Pick<IndexScan, 'index' | 'signal'>>(
    scan: T,
  ): Promise<T & Pick<IndexScan, 'changed'>> => {
    const { index, signal } = scan;
    const known = changedByIndex.get(index.id);
    if (known !== undefined) return { ...scan, changed: known };
    const ids = [...changes.changesOf(index.keyspace).keys()];
    if (ids.length === 0) return scan;
    const read = await documents.read(index.keyspace, ids, { signal, ...metadataOf(index) });
    const changed = new Map(ids.map((id, at) => [id, read[at] ?? null]));
    changedByIndex.set(index.id, changed);
    return { ...scan, changed };
  };
  return {
    indexesOf: (keyspace) => indexes.indexesOf(keyspace),
    scan: async function* (scan) {
      yield* indexes.scan(await overlaid(scan));
    },
    figures: (index) => indexes.figures(index),
  };
}

/** The parts of documents that the index may have besides bodies. Its expressions have the form in which statements are formatted. */
function metadataOf({ keys, condition = '' }: IndexDefinition): Pick<ReadOptions, 'expiration' | 'xattrs'> {
  const text = [condition, ...keys.map(({ expression }) => expression)].join(' ');
  const xattrs = [...text.matchAll(/\.`xattrs`\)\.`((?:[^`]|``)+)`/g)].map(([, name]) =>
    (name as string).replaceAll('``', '`'),
  );
  return { expiration: text.includes('expiration'), ...(xattrs.length > 0 && { xattrs }) };
}

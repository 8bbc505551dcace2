// Documents of the engine over the data port: pipelined reads, writes with CAS and durability, scans by vbucket.
import type { BucketClient, PartialReplies, StoreRequest } from '#client/bucket-client.ts';
import { attributeNameRule, isAttributeName, type PathWrite } from '#client/subdoc.ts';
import { isTransactionRecordKey } from '#client/transaction-record.ts';
import type {
  Documents,
  DocumentWrite,
  FoundDocuments,
  ReadOptions,
  ScanOptions,
  StoredDocument,
  WriteOptions,
  WriteOutcome,
} from '#sqlpp/datastore/documents.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { Entry } from '#wire/document-batch.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { type BatchedDocuments, EntryReader } from './batched-documents.ts';
import { BatchedScan } from './batched-scan.ts';
import type { BucketClients } from './bucket-clients.ts';
import { CollectionScan } from './collection-scan.ts';
import { dataFailure } from './data-failure.ts';
import { readParts } from './document-parts.ts';
import { isDocumentId } from './encoded-keys.ts';
import {
  leavingPlaceIfSlow,
  type RetryOptions,
  retryTemporary,
  retryWrites,
  type StatementPlace,
} from './temporary-failures.ts';
import { readWhole } from './whole-documents.ts';
import { outcomeOf } from './write-outcome.ts';

const noBytes = Buffer.alloc(0);
/** A batch has at least this many documents. Fewer are read in a call that blocks this thread, or with pipelined requests. */
const batchedFrom = 32;
/** Documents in one message. */
const batchKeys = 256;

export class WireDocuments implements Documents {
  private readonly clients: BucketClients;
  private readonly place: StatementPlace | undefined;

  constructor(clients: BucketClients, place?: StatementPlace) {
    this.clients = clients;
    this.place = place;
  }

  readNow(
    { name, collectionId }: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
    receive: (document: StoredDocument, position: number) => void,
  ): readonly number[] | null {
    const { quick } = this.clients;
    if (quick === null || needsParts(options) || !ids.every(isDocumentId)) return null;
    return quick.readNow(name.bucket, collectionId, ids, receive);
  }

  read(
    keyspace: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
  ): FoundDocuments | Promise<FoundDocuments> {
    return ids.every(isDocumentId)
      ? this.readIds(keyspace, ids, options)
      : this.readPossible(keyspace, ids, options);
  }

  /** No document has an id that is empty or too long. */
  private async readPossible(
    keyspace: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
  ): Promise<FoundDocuments> {
    const found = (await this.readIds(keyspace, ids.filter(isDocumentId), options)).values();
    return ids.map((id) => (isDocumentId(id) ? found.next().value : undefined));
  }

  private readIds(
    keyspace: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
  ): FoundDocuments | Promise<FoundDocuments> {
    const isPlain = !needsParts(options);
    const entries = isPlain && ids.length < batchedFrom ? this.quickEntries(keyspace, ids) : null;
    if (entries !== null) return this.withSingles(entries, keyspace, ids, options);
    return this.reading(keyspace, options.signal, (client) => {
      if (!isPlain) return readParts(client, keyspace, ids, options);
      const { batches } = this.clients;
      if (batches === null || ids.length < batchedFrom) return readWhole(client, keyspace, ids, options);
      if (this.clients.isSpread) return this.readSpread(batches, client, keyspace, ids, options);
      return readBatched(batches, client, keyspace, ids, options);
    });
  }

  /** The entries of few documents of this node; null: they come through the data port. */
  private quickEntries({ name, collectionId }: Keyspace, ids: readonly string[]): Buffer | null {
    const { clients } = this;
    if (clients.quick === null) return null;
    if (clients.isSpread && !ids.every((id) => clients.isHere(name.bucket, id))) return null;
    return clients.quick.read(name.bucket, collectionId, ids);
  }

  /** The documents of a reply, and those that it leaves out. */
  private withSingles(
    entries: Buffer,
    keyspace: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
  ): FoundDocuments | Promise<FoundDocuments> {
    const found: FoundDocuments = [];
    const singles = addEntries(entries, ids, found);
    if (singles.length === 0) return found;
    return this.reading(keyspace, options.signal, async (client) => {
      await readSingles(client, keyspace, ids, options, { found, singles });
      return found;
    });
  }

  /** In a cluster of several nodes: batches have only the documents of this node, the others come through the data port. */
  private async readSpread(
    batches: BatchedDocuments,
    client: BucketClient,
    keyspace: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
  ): Promise<FoundDocuments> {
    const { bucket } = keyspace.name;
    const isHere = ids.map((id) => this.clients.isHere(bucket, id));
    const localIds = ids.filter((_, at) => isHere[at]);
    const others = ids.filter((_, at) => !isHere[at]);
    const [local, elsewhere] = await Promise.all([
      readBatched(batches, client, keyspace, localIds, options),
      readWhole(client, keyspace, others, options),
    ]);
    const next = { here: 0, elsewhere: 0 };
    return isHere.map((isLocal) => (isLocal ? local[next.here++] : elsewhere[next.elsewhere++]));
  }

  async *scan(keyspace: Keyspace, options: ScanOptions): AsyncIterable<readonly StoredDocument[]> {
    const retry = this.retryOptions(options.signal);
    const opening = retryTemporary(retry, () => this.clients.forScans(keyspace.name.bucket));
    const client = await opening.catch((error: unknown) => {
      throw dataFailure(error, keyspace);
    });
    const { batches } = this.clients;
    const source = { client, keyspace, options, retry };
    const scan =
      batches !== null && !needsParts(options)
        ? new BatchedScan(batches, source)
        : new CollectionScan(source);
    try {
      for await (const batch of scan.batches())
        yield options.withTransactionRecords ? batch : withoutTransactionRecords(batch);
    } catch (error) {
      throw dataFailure(error, keyspace);
    } finally {
      scan.end();
    }
  }

  count(keyspace: Keyspace, signal: AbortSignal): Promise<number> {
    return this.reading(keyspace, signal, (client) => client.itemCount(keyspace.collectionId));
  }

  async write(
    keyspace: Keyspace,
    writes: readonly DocumentWrite[],
    options: WriteOptions,
  ): Promise<WriteOutcome[]> {
    const outcomes = writes.map(refusalOf);
    const sent = writes.filter((_, index) => outcomes[index] === null);
    const answered = (await this.send(keyspace, sent, options)).values();
    return outcomes.map((outcome) => outcome ?? (answered.next().value as WriteOutcome));
  }

  /** Rejects if no write was answered. */
  private async send(
    keyspace: Keyspace,
    writes: readonly DocumentWrite[],
    options: WriteOptions,
  ): Promise<WriteOutcome[]> {
    const { name, collectionId } = keyspace;
    const { signal } = options;
    const requests = writes.map((write) => storeRequest(write, options));
    const replies: PartialReplies = [];
    let failure: Error | undefined;
    try {
      const retry = this.retryOptions(signal);
      // Each attempt uses the connection that is open then: the one of the first attempt may have ended.
      const sendNow = (some: readonly StoreRequest[], answered: PartialReplies): Promise<unknown> =>
        this.use(keyspace, (client) => client.storeMany(collectionId, some, signal, answered));
      const send: typeof sendNow =
        options.durability === 'none'
          ? sendNow
          : (some, answered) => leavingPlaceIfSlow(retry, sendNow(some, answered));
      await retryWrites(retry, requests, send, { replies, refusals: this.clients.refusalsOf(name.bucket) });
    } catch (error) {
      failure = dataFailure(error, keyspace);
      if (replies.every((reply) => reply === undefined)) throw failure;
    }
    return writes.map((write, index) => {
      const reply = replies[index];
      return reply === undefined ? { status: 'unknown', error: failure as Error } : outcomeOf(reply, write);
    });
  }

  /** Retries a read after temporary failures. */
  private async reading<T>(
    keyspace: Keyspace,
    signal: AbortSignal,
    read: (client: BucketClient) => Promise<T>,
  ): Promise<T> {
    const attempt = (): Promise<T> => this.use(keyspace, read);
    try {
      return await retryTemporary(this.retryOptions(signal), attempt);
    } catch (error) {
      throw dataFailure(error, keyspace);
    }
  }

  private async use<T>({ name }: Keyspace, use: (client: BucketClient) => Promise<T>): Promise<T> {
    return await use(this.clients.openClient(name.bucket) ?? (await this.clients.clientOf(name.bucket)));
  }

  private retryOptions(signal: AbortSignal): RetryOptions {
    return { clock: this.clients.clock, signal, place: this.place };
  }
}

const withoutTransactionRecords = (batch: readonly StoredDocument[]): readonly StoredDocument[] =>
  batch.some(isTransactionRecord) ? batch.filter((document) => !isTransactionRecord(document)) : batch;

/** In a scan of keys only, through the data port, `isJson` is false for all documents, so that the id alone decides. */
const isTransactionRecord = ({ id, isJson }: StoredDocument): boolean =>
  isTransactionRecordKey(id) && !isJson;

/** Whether a read requests more than documents with CAS and flags. */
const needsParts = ({ xattrs = [], expiration }: Pick<ReadOptions, 'xattrs' | 'expiration'>): boolean =>
  xattrs.length > 0 || expiration === true;

/** Documents that the batches leave out come through the data port. */
async function readBatched(
  batches: BatchedDocuments,
  client: BucketClient,
  keyspace: Keyspace,
  ids: readonly string[],
  options: ReadOptions,
): Promise<FoundDocuments> {
  const found: FoundDocuments = [];
  const singles: number[] = [];
  for (let from = 0; from < ids.length; from += batchKeys) {
    const part = ids.slice(from, from + batchKeys);
    const { entries } = await batches.readKeys(keyspace.name.bucket, keyspace.collectionId, part);
    options.signal.throwIfAborted();
    if (entries === null) return await readWhole(client, keyspace, ids, options);
    for (const at of addEntries(entries, part, found)) singles.push(from + at);
  }
  if (singles.length > 0) await readSingles(client, keyspace, ids, options, { found, singles });
  return found;
}

/** Appends the documents of a reply; returns the indexes of the ids whose documents it leaves out. */
function addEntries(entries: Uint8Array, ids: readonly string[], found: FoundDocuments): number[] {
  const reader = new EntryReader(entries);
  const singles: number[] = [];
  for (let at = 0; at < ids.length; at++) {
    const entry = reader.read();
    found.push(entry === Entry.found ? reader.document(ids[at] as string) : undefined);
    if (entry !== Entry.found && entry !== Entry.missing) singles.push(at);
  }
  return singles;
}

/** Reads what a reply leaves out. */
async function readSingles(
  client: BucketClient,
  keyspace: Keyspace,
  ids: readonly string[],
  options: ReadOptions,
  { found, singles }: { readonly found: FoundDocuments; readonly singles: readonly number[] },
): Promise<void> {
  const singleIds = singles.map((at) => ids[at] as string);
  const rest = await readWhole(client, keyspace, singleIds, options);
  for (const [index, at] of singles.entries()) found[at] = rest[index];
}

/** The most characters that a refusal shows of a wrong name. */
const shownNameMax = 50;

/** The refusal of an attribute name that the data service would refuse or read as a path; null: the write can be sent. */
function refusalOf({ xattrs }: DocumentWrite): WriteOutcome | null {
  if (xattrs === undefined) return null;
  const wrong = [...xattrs.keys()].find((name) => !isAttributeName(name));
  if (wrong === undefined) return null;
  const shown = JSON.stringify(wrong.slice(0, shownNameMax));
  const reason = `the name of the attribute ${shown} ${attributeNameRule}`;
  return { status: 'failed', reason, retryable: false };
}

const kinds = { insert: 'add', upsert: 'set', replace: 'replace', delete: 'remove' } as const;

function storeRequest(write: DocumentWrite, { durability }: WriteOptions): StoreRequest {
  const { kind, id, bytes, cas, expiration, xattrs } = write;
  const plain: StoreRequest = {
    kind: kinds[kind],
    key: id,
    value: bytes,
    cas: kind === 'insert' ? 0n : cas,
    expiry: expiration,
    durability,
  };
  if (xattrs === undefined || xattrs.size === 0 || kind === 'delete') return plain;
  return { ...plain, value: noBytes, parts: { writes: partsOf(xattrs, bytes), docFlags: docFlagsOf[kind] } };
}

const docFlagsOf = { insert: DocFlag.add, upsert: DocFlag.mkdoc, replace: 0 } as const;

function partsOf(xattrs: ReadonlyMap<string, Uint8Array | null>, bytes: Uint8Array): PathWrite[] {
  const writes: PathWrite[] = [...xattrs].map(([path, value]) =>
    value === null
      ? { opcode: SubdocOpcode.delete, flags: PathFlag.xattr, path }
      : { opcode: SubdocOpcode.dictUpsert, flags: PathFlag.xattr | PathFlag.mkdirP, path, value },
  );
  return [...writes, { opcode: SubdocOpcode.setDoc, flags: 0, path: '', value: bytes }];
}

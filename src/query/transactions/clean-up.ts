// Cleans up lost attempts: applies the staged changes of committed ones and removes those of aborted ones. Of pending ones only the entry in the
// record is removed.
import type { StoreReply, StoreRequest } from '#client/bucket-client.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { Status } from '#wire/status.ts';
import {
  durabilityOf,
  type RecordedAttempt,
  type RecordedDocument,
  type TxnAttribute,
} from './attempt-json.ts';
import type { AttemptRecord } from './attempt-record.ts';
import { commitRequest, rollbackRequest } from './document-requests.ts';
import type { StagedKind } from './staged-change.ts';
import { isDone } from './staging.ts';
import type { LinkedDocument, TransactionData } from './transaction-data.ts';

export interface CleanUpOptions {
  readonly data: TransactionData;
  /** Whether a bucket that this node does not have was dropped. Otherwise the node does not have it yet, as after a start. */
  readonly isDropped: (bucket: string) => boolean;
}

/**
 * Safe to repeat and to run concurrently: every write requires the CAS that was read. Resolves with false if changes remain, for example of a
 * locked document: then the attempt stays recorded, to be cleaned up again.
 */
export async function cleanUp(
  options: CleanUpOptions,
  record: AttemptRecord,
  attempt: string,
  entry: RecordedAttempt,
): Promise<boolean> {
  const clean = new AttemptCleanUp(options, record, attempt, entry);
  if (entry.st === 'COMMITTED') {
    await clean.endAll('insert', commitOf);
    await clean.endAll('replace', commitOf);
    await clean.endAll('remove', commitOf);
  }
  if (entry.st === 'ABORTED') {
    await clean.endAll('insert', rollbackOf);
    await clean.endAll('replace', rollbackOf);
    await clean.endAll('remove', rollbackOf);
  }
  if (!clean.isComplete) return false;
  // The staged changes of a pending attempt remain: without its record other transactions ignore them.
  await record.remove(attempt, { isPending: entry.st === 'PENDING' });
  return true;
}

/** The request that ends the staged change of a document; null: the document stays as it is. */
type EndRequest = (id: string, document: LinkedDocument) => StoreRequest | null;

/** Null if another writer has overwritten the document. */
const commitOf: EndRequest = (id, { cas, isDeleted, txn, staged, attribute }) => {
  const kind = txn?.op?.type;
  if (txn?.op?.crc32 === undefined || txn.op.crc32 !== attribute.value_crc32c) return null;
  if (kind === 'remove')
    return isDeleted ? null : commitRequest({ kind, id, bytes: noBytes, expiration: 0 }, cas);
  if (staged === undefined) return null;
  return commitRequest(
    {
      kind: isDeleted ? 'insert' : 'replace',
      id,
      bytes: staged,
      expiration: txn?.aux?.docexpiry ?? 'keep',
    },
    cas,
  );
};

const rollbackOf: EndRequest = (id, { cas, isDeleted }) => rollbackRequest(id, cas, isDeleted);

const noBytes = new Uint8Array();
/** Documents that are read and written at a time. */
const batchDocuments = 256;
const kvTimeoutMs = 10_000;

class AttemptCleanUp {
  private readonly options: CleanUpOptions;
  private readonly record: AttemptRecord;
  private readonly attempt: string;
  private readonly entry: RecordedAttempt;
  /** False once a change remains. */
  isComplete = true;

  constructor(options: CleanUpOptions, record: AttemptRecord, attempt: string, entry: RecordedAttempt) {
    this.options = options;
    this.record = record;
    this.attempt = attempt;
    this.entry = entry;
  }

  async endAll(kind: StagedKind, endRequest: EndRequest): Promise<void> {
    const byCollection = Map.groupBy(this.listOf(kind), ({ bkt, scp, col }) =>
      JSON.stringify([bkt, scp, col]),
    );
    for (const documents of byCollection.values()) {
      const { bkt, scp, col } = documents[0] as RecordedDocument;
      const keyspace = this.keyspaceOf(bkt, scp, col);
      for (let at = 0; keyspace !== null && at < documents.length; at += batchDocuments)
        await this.end(
          keyspace,
          documents.slice(at, at + batchDocuments).map(({ id }) => id),
          endRequest,
        );
    }
  }

  private listOf(kind: StagedKind): readonly RecordedDocument[] {
    const { ins = [], rep = [], rem = [] } = this.entry;
    return kind === 'insert' ? ins : kind === 'replace' ? rep : rem;
  }

  private async end(keyspace: Keyspace, ids: readonly string[], endRequest: EndRequest): Promise<void> {
    const limits = { durability: durabilityOf(this.entry.d), kvTimeoutMs };
    const { data } = this.options;
    const found = await data.linkedDocuments(keyspace, ids, limits);
    const requests = found.flatMap((document, at) => {
      if (document === undefined || !this.isStaged(document.txn)) return [];
      return endRequest(ids[at] as string, document) ?? [];
    });
    // Committed documents are on disk before the attempt is removed from its record: a crash must not leave them staged without it.
    const store = this.entry.st === 'COMMITTED' ? 'storePersisted' : 'store';
    const replies = requests.length === 0 ? [] : await data[store](keyspace, requests, limits);
    if (!replies.every(isEnded)) this.isComplete = false;
  }

  /**
   * The document must name the record, too: the service may write where the writers of a record may not, and they could record an attempt whose
   * id they have read from documents of others.
   */
  private isStaged({ id, atr }: TxnAttribute = {}): boolean {
    const { id: recordId, keyspace } = this.record;
    const { bucket, scope, collection } = keyspace.name;
    const { bkt, scp = '_default', coll = '_default' } = atr ?? {};
    const isOfRecord = atr?.id === recordId && bkt === bucket && scp === scope && coll === collection;
    return isOfRecord && id?.atmpt === this.attempt;
  }

  /** null: the documents were dropped with the collection, or their bucket is not there yet. */
  private keyspaceOf(bucket: string, scope: string, collection: string): Keyspace | null {
    const { data, isDropped } = this.options;
    const keyspace = data.find({ namespace: 'default', bucket, scope, collection });
    if (keyspace === 'no bucket' && !isDropped(bucket)) this.isComplete = false;
    return typeof keyspace === 'string' ? null : keyspace;
  }
}

/** Whether the change was ended, or the document deleted. A document that changed meanwhile must be read again. */
const isEnded = ({ status, failedPartStatus }: StoreReply): boolean =>
  isDone(status) || status === Status.keyNotFound || failedPartStatus === Status.subdocPathNotFound;

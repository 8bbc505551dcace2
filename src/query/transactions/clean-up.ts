// Cleans up lost attempts: applies the staged changes of committed ones and removes those of aborted ones. Of pending ones only the entry in the
// record is removed.
import type { StoreRequest } from '#client/bucket-client.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { durabilityOf, type RecordedAttempt, type RecordedDocument } from './attempt-json.ts';
import type { AttemptRecord } from './attempt-record.ts';
import { commitRequest, rollbackRequest } from './document-requests.ts';
import type { StagedKind } from './staged-change.ts';
import type { LinkedDocument, TransactionData } from './transaction-data.ts';

/** Safe to repeat and to run concurrently: every write requires the CAS that was read. */
export async function cleanUp(
  data: TransactionData,
  record: AttemptRecord,
  attempt: string,
  entry: RecordedAttempt,
): Promise<void> {
  const clean = new AttemptCleanUp(data, attempt, entry);
  if (entry.st === 'COMMITTED') {
    await clean.each('insert', commitOf);
    await clean.each('replace', commitOf);
    await clean.each('remove', commitOf);
  }
  if (entry.st === 'ABORTED') {
    await clean.each('insert', rollbackOf);
    await clean.each('replace', rollbackOf);
    await clean.each('remove', rollbackOf);
  }
  // The staged changes of a pending attempt remain: without its record other transactions ignore them.
  await record.remove(attempt, { isPending: entry.st === 'PENDING' });
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
    { kind: isDeleted ? 'insert' : 'replace', id, bytes: staged, expiration: 'keep' },
    cas,
  );
};

const rollbackOf: EndRequest = (id, { cas, isDeleted }) => rollbackRequest(id, cas, isDeleted);

const noBytes = new Uint8Array();
const batch = 256;

class AttemptCleanUp {
  private readonly data: TransactionData;
  private readonly attempt: string;
  private readonly entry: RecordedAttempt;

  constructor(data: TransactionData, attempt: string, entry: RecordedAttempt) {
    this.data = data;
    this.attempt = attempt;
    this.entry = entry;
  }

  async each(kind: StagedKind, endRequest: EndRequest): Promise<void> {
    const byCollection = Map.groupBy(this.listOf(kind), ({ bkt, scp, col }) =>
      JSON.stringify([bkt, scp, col]),
    );
    for (const documents of byCollection.values()) {
      const { bkt, scp, col } = documents[0] as RecordedDocument;
      const keyspace = this.keyspaceOf(bkt, scp, col);
      for (let at = 0; keyspace !== null && at < documents.length; at += batch)
        await this.end(
          keyspace,
          documents.slice(at, at + batch).map(({ id }) => id),
          endRequest,
        );
    }
  }

  private listOf(kind: StagedKind): readonly RecordedDocument[] {
    const { ins, rep, rem } = this.entry;
    const list = kind === 'insert' ? ins : kind === 'replace' ? rep : rem;
    return Array.isArray(list) ? (list as readonly RecordedDocument[]) : [];
  }

  private async end(keyspace: Keyspace, ids: readonly string[], endRequest: EndRequest): Promise<void> {
    const limits = { durability: durabilityOf(this.entry.d), kvTimeoutMs: 10_000 };
    const found = await this.data.links(keyspace, ids, limits);
    const requests = found.flatMap((document, at) => {
      if (document?.txn?.id?.atmpt !== this.attempt) return [];
      return endRequest(ids[at] as string, document) ?? [];
    });
    if (requests.length > 0) await this.data.store(keyspace, requests, limits);
  }

  private keyspaceOf(bucket: string, scope: string, collection: string): Keyspace | null {
    try {
      return this.data.keyspace({ namespace: 'default', bucket, scope, collection });
    } catch {
      return null; // the documents were dropped with the collection
    }
  }
}

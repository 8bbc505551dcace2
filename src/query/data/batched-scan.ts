// Reads a whole collection in batches from the data thread. Batches leave out documents that are large or on disk only, and vbuckets
// with very many documents: those come through the data port. Of a document that is written meanwhile the scan returns the old or the
// new version.
import type { StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { BatchReply } from '#wire/document-batch.ts';
import { Entry } from '#wire/document-batch.ts';
import { type BatchedDocuments, EntryReader } from './batched-documents.ts';
import { CollectionScan, filledVbuckets, retryWhileOpen, type ScanSource } from './collection-scan.ts';
import { readWhole } from './whole-documents.ts';

/** Vbuckets of one request. */
const requestVbuckets = 16;
/** Requests of a scan at a time: while this thread decodes a reply, the data thread makes the next one. */
const requestsMax = 2;
/** Documents that are read through the data port at a time: they may be large. */
const singlesMax = 16;

interface BatchInFlight {
  readonly vbuckets: readonly number[];
  readonly reply: Promise<BatchReply>;
}

export class BatchedScan {
  private readonly dataThread: BatchedDocuments;
  private readonly scanned: ScanSource;
  private readonly requested: BatchInFlight[] = [];
  private vbuckets: number[] = [];
  /** Vbuckets that the batches leave out. */
  private readonly leftOut: number[] = [];
  private portScan: CollectionScan | null = null;

  constructor(dataThread: BatchedDocuments, scanned: ScanSource) {
    this.dataThread = dataThread;
    this.scanned = scanned;
  }

  async *batches(): AsyncIterable<readonly StoredDocument[]> {
    const { client, keyspace, options, retry } = this.scanned;
    this.vbuckets = (await filledVbuckets(client, keyspace, retry)).reverse();
    for (let next = this.next(); next !== undefined; next = this.next()) {
      const { vbuckets, reply } = next;
      const { entries, vbuckets: count } = await reply;
      options.signal.throwIfAborted();
      // Without entries the data thread has read none of the vbuckets. Otherwise the reply has the first `count` of them, and the others are requested again.
      if (entries === null) this.leftOut.push(...vbuckets);
      else {
        this.vbuckets.push(...vbuckets.slice(count));
        yield* this.documentsOf(new EntryReader(entries));
      }
    }
    if (this.leftOut.length === 0) return;
    this.portScan = new CollectionScan(this.scanned);
    yield* this.portScan.batches(this.leftOut);
  }

  /** Cancels the scan, so that the data service frees its memory for it. */
  end(): void {
    this.requested.length = 0;
    this.vbuckets = [];
    this.portScan?.end();
  }

  private next(): BatchInFlight | undefined {
    const { dataThread, requested, vbuckets } = this;
    const { keyspace, options } = this.scanned;
    while (requested.length < requestsMax && vbuckets.length > 0) {
      const requestedVbuckets = vbuckets.splice(-requestVbuckets).reverse();
      const { keysOnly = false } = options;
      const { name, collectionId: collection } = keyspace;
      const reply = dataThread.readVbuckets({
        bucket: name.bucket,
        collection,
        vbuckets: requestedVbuckets,
        keysOnly,
      });
      reply.catch(() => {}); // `batches` reports the failure, but may be suspended at a `yield` when it happens
      requested.push({ vbuckets: requestedVbuckets, reply });
    }
    return requested.shift();
  }

  private async *documentsOf(reader: EntryReader): AsyncGenerator<readonly StoredDocument[]> {
    const documents: StoredDocument[] = [];
    const singles: string[] = [];
    for (let entry = reader.read(); entry !== null; entry = reader.read()) {
      if (entry === Entry.found) documents.push(reader.document(reader.key));
      else if (entry === Entry.vbucket) this.leftOut.push(reader.vbucket);
      else singles.push(reader.key);
    }
    if (documents.length > 0) yield documents;
    const { client, keyspace, options } = this.scanned;
    for (let at = 0; at < singles.length; at += singlesMax) {
      const some = singles.slice(at, at + singlesMax);
      const found = await retryWhileOpen(this.scanned, () => readWhole(client, keyspace, some, options));
      const existing = found.filter((document) => document !== undefined);
      if (existing.length > 0) yield existing;
    }
  }
}

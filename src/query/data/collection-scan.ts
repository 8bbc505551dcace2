// Reads a whole collection, a few vbuckets at a time; skips vbuckets that never had a document of it. Of a document that is written
// meanwhile the scan returns the old or the new version.
import type { BucketClient } from '#client/bucket-client.ts';
import { StatusError } from '#client/data-port-error.ts';
import { RangeScanner, type ScannedDocument } from '#client/range-scan.ts';
import type { ScanOptions, StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { Status } from '#wire/status.ts';
import { XattrWalk } from '#wire/xattr-section.ts';

/** Vbuckets that are read concurrently. */
const scannersMax = 8;
/** The largest batch of documents. */
const batchDocuments = 256;

export class CollectionScan {
  private readonly client: BucketClient;
  private readonly keyspace: Keyspace;
  private readonly options: ScanOptions;
  private readonly running = new Map<RangeScanner, Promise<Page>>();
  private vbuckets: number[] = [];

  constructor(client: BucketClient, keyspace: Keyspace, options: ScanOptions) {
    this.client = client;
    this.keyspace = keyspace;
    this.options = options;
  }

  /** The documents of these vbuckets, or of all. */
  async *batches(some?: readonly number[]): AsyncIterable<readonly StoredDocument[]> {
    this.vbuckets = [...(some ?? (await filledVbuckets(this.client, this.keyspace)))].reverse();
    let batch: StoredDocument[] = [];
    this.fill();
    while (this.running.size > 0) {
      const { scanner, documents } = await Promise.race(this.running.values());
      this.options.signal.throwIfAborted();
      if (documents === null) this.running.delete(scanner);
      else this.running.set(scanner, this.page(scanner));
      this.fill();
      for (const document of documents ?? []) batch.push(this.stored(document));
      if (batch.length < batchDocuments && this.running.size > 0) continue;
      yield batch;
      batch = [];
    }
  }

  /** Cancels the scans in the data service. */
  end(): void {
    for (const [scanner, page] of this.running) {
      page.catch(() => {}); // the result is not needed
      scanner.cancel();
    }
    this.running.clear();
    this.vbuckets = [];
  }

  private fill(): void {
    while (this.running.size < scannersMax) {
      const vb = this.vbuckets.pop();
      if (vb === undefined) return;
      const { keysOnly = false, xattrs } = this.options;
      const scanner = new RangeScanner(this.client.connection, {
        vb,
        collectionId: this.keyspace.collectionId,
        keysOnly,
        withXattrs: (xattrs?.length ?? 0) > 0,
      });
      this.running.set(scanner, this.page(scanner));
    }
  }

  private async page(scanner: RangeScanner): Promise<Page> {
    try {
      return { scanner, documents: await scanner.next() };
    } catch (error) {
      // In a cluster of one node, a vbucket that the node no longer serves has no documents anywhere.
      const isGone =
        !this.client.isSpread && error instanceof StatusError && error.status === Status.notMyVbucket;
      if (!isGone) throw error;
      return { scanner, documents: null };
    }
  }

  private stored(document: ScannedDocument): StoredDocument {
    const { key: id, value: bytes, isJson, cas, flags, expiry: expiration } = document;
    const { xattrs: names = [] } = this.options;
    const stored = { id, bytes, isJson, cas, flags, expiration };
    return names.length === 0 ? stored : { ...stored, xattrs: attributesOf(document, new Set(names)) };
  }
}

/** Vbuckets that have or had documents of the collection. */
export async function filledVbuckets(client: BucketClient, { collectionId }: Keyspace): Promise<number[]> {
  const seqnos = await client.highSeqnos(collectionId);
  return [...seqnos.keys()].filter((vb) => seqnos[vb] !== 0);
}

interface Page {
  scanner: RangeScanner;
  documents: ScannedDocument[] | null;
}

function attributesOf({ xattrs }: ScannedDocument, names: ReadonlySet<string>): Map<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  if (xattrs.length === 0) return found;
  const walk = new XattrWalk();
  walk.begin(xattrs, 0, xattrs.length);
  while (walk.next()) {
    const name = xattrs.toString('utf8', walk.keyStart, walk.keyEnd);
    if (names.has(name)) found.set(name, xattrs.subarray(walk.valueStart, walk.valueEnd));
  }
  return found;
}

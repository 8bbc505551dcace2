// Reads a whole collection, a few vbuckets at a time; skips vbuckets that never had a document of it. Of a document that is written
// meanwhile the scan returns the old or the new version.
import type { BucketClient } from '#client/bucket-client.ts';
import { DataPortError, StatusError } from '#client/data-port-error.ts';
import { RangeScanner, type ScannedDocument } from '#client/range-scan.ts';
import type { ScanOptions, StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { RangeScanContinue } from '#wire/commands/bucket.ts';
import { Status } from '#wire/status.ts';
import { XattrWalk } from '#wire/xattr-section.ts';
import { dataFailure } from './data-failure.ts';
import { leavingPlaceIfSlow, type RetryOptions, retryAfter, retryTemporary } from './temporary-failures.ts';

/** Vbuckets that are read concurrently. */
const scannersMax = 8;
/** The largest batch of documents. */
const batchDocuments = 256;

/** What a scan reads, and how. */
export interface ScanSource {
  readonly client: BucketClient;
  readonly keyspace: Keyspace;
  readonly options: ScanOptions;
  readonly retry: RetryOptions;
}

export class CollectionScan {
  private readonly client: BucketClient;
  private readonly keyspace: Keyspace;
  private readonly options: ScanOptions;
  private readonly retry: RetryOptions;
  private readonly running = new Map<RangeScanner, Promise<Page>>();
  private vbuckets: number[] = [];

  constructor({ client, keyspace, options, retry }: ScanSource) {
    this.client = client;
    this.keyspace = keyspace;
    this.options = options;
    this.retry = retry;
  }

  /** The documents of these vbuckets, or of all. */
  async *batches(some?: readonly number[]): AsyncIterable<readonly StoredDocument[]> {
    const { client, keyspace, retry } = this;
    this.vbuckets = [...(some ?? (await filledVbuckets(client, keyspace, retry)))].reverse();
    let batch: StoredDocument[] = [];
    this.fill();
    while (this.running.size > 0) {
      const { scanner, documents } = await Promise.race(this.running.values());
      this.options.signal.throwIfAborted();
      if (documents === null) this.running.delete(scanner);
      else this.request(scanner);
      this.fill();
      for (const document of documents ?? []) batch.push(this.stored(document));
      if (batch.length < batchDocuments && this.running.size > 0) continue;
      yield batch;
      batch = [];
    }
  }

  /** Cancels the scans in the data service. */
  end(): void {
    for (const scanner of this.running.keys()) scanner.cancel();
    this.running.clear();
    this.vbuckets = [];
  }

  /** Begins to read further vbuckets, up to the limit of those that are read concurrently. */
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
      this.request(scanner);
    }
  }

  private request(scanner: RangeScanner): void {
    const page = this.page(scanner);
    page.catch(() => {}); // `batches` reports the failure, but may be suspended at a `yield` when it happens
    this.running.set(scanner, page);
  }

  private async page(scanner: RangeScanner): Promise<Page> {
    try {
      return { scanner, documents: await leavingPlaceIfSlow(this.retry, scanner.next()) };
    } catch (error) {
      // In a cluster of one node, a vbucket that the node no longer serves has no documents anywhere.
      const isGone =
        !this.client.isSpread && error instanceof StatusError && error.status === Status.notMyVbucket;
      if (isGone) return { scanner, documents: null };
      return {
        scanner,
        documents: await retryAfter(scanFailure(error), this.retry, () => this.again(scanner)),
      };
    }
  }

  /** The next page of a scan that failed. */
  private async again(scanner: RangeScanner): Promise<ScannedDocument[] | null> {
    // A closed client answers no further requests.
    if (this.client.isClosed) throw dataFailure(closed, this.keyspace);
    scanner.resume();
    try {
      return await leavingPlaceIfSlow(this.retry, scanner.next());
    } catch (error) {
      throw scanFailure(error);
    }
  }

  private stored(document: ScannedDocument): StoredDocument {
    const { key: id, value: bytes, isJson, cas, flags, expiry: expiration } = document;
    const { xattrs: names = [] } = this.options;
    const stored = { id, bytes, isJson, cas, flags, expiration };
    return names.length === 0 ? stored : { ...stored, xattrs: attributesOf(document, new Set(names)) };
  }
}

const closed = new DataPortError('the connection to the data port ended during a scan');

/** A node that got the vbucket meanwhile, or has started again, does not know the scan: it is no missing keyspace, and a new scan succeeds. */
function scanFailure(error: unknown): unknown {
  const isUnknownScan =
    error instanceof StatusError && error.opcode === RangeScanContinue.opcode && endedScans.has(error.status);
  return isUnknownScan ? new DataPortError(`the data service ended a scan: ${error.message}`) : error;
}

const endedScans: ReadonlySet<number> = new Set([Status.keyNotFound, Status.rangeScanCancelled]);

/** Retries a read over the connection of a scan, which is not opened again. */
export function retryWhileOpen<T>(
  { client, keyspace, retry }: Omit<ScanSource, 'options'>,
  read: () => Promise<T>,
): Promise<T> {
  return retryTemporary(retry, async () => {
    if (client.isClosed) throw dataFailure(closed, keyspace);
    return await read();
  });
}

/** Vbuckets that have or had documents of the collection. */
export async function filledVbuckets(
  client: BucketClient,
  keyspace: Keyspace,
  retry: RetryOptions,
): Promise<number[]> {
  const { collectionId } = keyspace;
  const seqnos = await retryWhileOpen({ client, keyspace, retry }, () => client.highSeqnos(collectionId));
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

// Writes the documents of a sample to its bucket. Adds only those that are missing; waits while a node cannot take them, and connects again.
import type { BucketClient, StoreRequest } from '#client/bucket-client.ts';
import { Status } from '#wire/status.ts';
import type { StoredBucket } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { jsonFlagsForAll } from '../documents/json-flags.ts';
import { type OpenBucketDeps, openBucket } from '../documents/open-bucket.ts';
import type { SampleDocument } from './sample-bucket.ts';

export interface SampleWriterOptions extends OpenBucketDeps {
  readonly view: ClusterView;
  readonly bucket: StoredBucket;
  readonly signal: AbortSignal;
}

/** The number of documents that are sent at once: other requests to this node run between two batches. */
const batch = 250;
/** A load fails if none of its documents is stored for this time. */
const stuckAfterMs = 60_000;
const retryPauseMs = 200;

export class SampleWriter {
  readonly #options: SampleWriterOptions;
  #client: BucketClient | null = null;

  constructor(options: SampleWriterOptions) {
    this.#options = options;
  }

  [Symbol.dispose](): void {
    this.#client?.close();
  }

  async add(collectionId: number, documents: readonly SampleDocument[]): Promise<void> {
    for (let first = 0; first < documents.length; first += batch) {
      let pending = documents.slice(first, first + batch).map(addRequest);
      let deadlineMs = this.#deadline();
      while (pending.length > 0) {
        const { remaining, problem } = await this.#addOnce(collectionId, pending);
        if (remaining.length < pending.length) deadlineMs = this.#deadline();
        else if (this.#options.clock.monotonicMs() > deadlineMs) throw new Error(problem);
        pending = remaining;
        if (pending.length > 0) await this.#options.clock.sleep(retryPauseMs, this.#options.signal);
      }
    }
  }

  /** Resolves with the documents to send again, and why. */
  async #addOnce(
    collectionId: number,
    requests: readonly StoreRequest[],
  ): Promise<{ remaining: StoreRequest[]; problem: string }> {
    const { view, bucket, signal } = this.#options;
    signal.throwIfAborted();
    if (view.buckets.byUuid[bucket.uuid]?.state !== 'ready') throw new Error('the bucket was deleted');
    const { DataPortError, StatusError, isTransient, statusName } = await import(
      '#client/data-port-error.ts'
    );
    try {
      this.#client ??= await openBucket(this.#options, bucket.name);
      const replies = await this.#client.storeMany(collectionId, requests, signal);
      const stored = [Status.success, Status.keyExists] as number[];
      const failed = requests.filter((_, index) => !stored.includes(replies[index]?.status as number));
      const status = replies.find((reply) => !stored.includes(reply.status))?.status ?? Status.success;
      // Another node may learn later than this node that the collection was created.
      if (status !== Status.success && !isTransient(status) && status !== Status.unknownCollection)
        throw new Error(`a document was refused: ${statusName(status)}`);
      return { remaining: failed, problem: `no document was stored: ${statusName(status)}` };
    } catch (error) {
      if (!(error instanceof DataPortError || error instanceof StatusError)) throw error;
      this.#client?.close();
      this.#client = null;
      return { remaining: [...requests], problem: error.message };
    }
  }

  #deadline(): number {
    return this.#options.clock.monotonicMs() + stuckAfterMs;
  }
}

const addRequest = ({ key, value }: SampleDocument): StoreRequest => ({
  kind: 'add',
  key,
  value: Buffer.from(JSON.stringify(value)),
  cas: 0n,
  expiry: 0,
  flags: jsonFlagsForAll,
});

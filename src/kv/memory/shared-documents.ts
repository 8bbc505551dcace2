// The buckets whose memory a thread beside the data thread reads. Tables and pages are requested when a read lacks them.
import type { MemoryChange, MemoryReply, MemoryRequest } from '#wire/document-batch.ts';
import { BucketMemory, type TakeDocument } from './bucket-memory.ts';
import type { ReaderClock } from './item-copy.ts';

/** Reads that pass without another request after the data thread has refused one. */
const readsAfterRefusal = 200;
/** Memory that was released and still has to be collected: a collection takes tens of milliseconds. */
const uncollectedBytesMax = 64 << 20;
const none = -1;
/** Number 0 is no page. */
const firstPage = 1;

export interface SharedDocumentsOptions {
  readonly send: (request: MemoryRequest) => void;
  readonly clock: ReaderClock;
  /** The system gets memory back when this thread has collected its references. */
  readonly collectGarbage: () => void;
}

export class SharedDocuments {
  private readonly options: SharedDocumentsOptions;
  private readonly buckets = new Map<string, BucketMemory>();
  private isWaiting = false;
  private readsToPass = 0;
  private uncollectedBytes = 0;

  constructor(options: SharedDocumentsOptions) {
    this.options = options;
  }

  /**
   * Calls `take` with each document that this thread can read, and returns the positions of the others, which the data thread reads; null:
   * all. `keys` are those of a KeysRequest.
   */
  read(
    bucket: string,
    collection: number,
    keys: Buffer,
    end: number,
    take: TakeDocument,
  ): readonly number[] | null {
    const memory = this.buckets.get(bucket);
    const others = memory?.read(collection, keys, end, take) ?? null;
    const isComplete = others !== null && others.length === 0;
    if (!isComplete && !this.isWaiting) this.request(memory, { bucket, collection, keys });
    return others;
  }

  take(message: MemoryReply | MemoryChange): void {
    if (message.kind === 'memoryChanged') this.release();
    else this.add(message);
  }

  private add({ bucket, collection, grant }: MemoryReply): void {
    this.isWaiting = false;
    const known = this.buckets.get(bucket);
    if (grant === null) {
      this.readsToPass = readsAfterRefusal;
      return;
    }
    const memory =
      known === undefined || known.isRevoked ? new BucketMemory(grant, this.options.clock) : known;
    this.buckets.set(bucket, memory);
    memory.add(collection, grant);
  }

  private request(memory: BucketMemory | undefined, read: Read): void {
    if (this.readsToPass > 0) {
      this.readsToPass--;
      return;
    }
    const { bucket, collection, keys } = read;
    const isKnown = memory?.knows(collection) ?? false;
    const { lackedVbucket = none, lackedPage = none } = memory ?? {};
    if (isKnown && lackedVbucket === none && lackedPage === none) return;
    this.isWaiting = true;
    const vbucket = lackedVbucket === none ? keys.readUInt16BE(0) : lackedVbucket;
    this.options.send({ kind: 'memory', bucket, collection, vbucket, page: Math.max(lackedPage, firstPage) });
  }

  /** Other threads have released memory that this one still refers to. */
  private release(): void {
    for (const [bucket, memory] of this.buckets) {
      this.uncollectedBytes += memory.releaseOld();
      if (memory.isRevoked) this.buckets.delete(bucket);
    }
    if (this.uncollectedBytes < uncollectedBytesMax) return;
    this.uncollectedBytes = 0;
    this.options.collectGarbage();
  }
}

interface Read {
  readonly bucket: string;
  readonly collection: number;
  readonly keys: Buffer;
}

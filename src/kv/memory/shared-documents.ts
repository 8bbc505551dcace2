// The buckets whose memory a thread beside the data thread reads. Tables and pages are requested when a read lacks them.
import type { Clock } from '#ports/clock.ts';
import type { MemoryChange, MemoryReply, MemoryRequest, UsedDocuments } from '#wire/document-batch.ts';
import { BucketMemory, type ReceiveDocument } from './bucket-memory.ts';
import type { ReaderClock } from './item-copy.ts';

/** Reads that pass without another request after the data thread has refused one. */
const readsAfterRefusal = 200;
/** Memory that was released and still has to be collected: a collection takes tens of milliseconds. */
const uncollectedBytesMax = 64 << 20;
/** Limit of `pauses`, in which the names of deleted buckets stay. */
const pausesMax = 1_000;
/** Keys of documents to mark as used wait this long, so that one message has many of them. */
export const unmarkedMs = 50;
const none = -1;
/** Number 0 is no page. */
const firstPage = 1;

export interface SharedDocumentsOptions {
  readonly send: (message: MemoryRequest | UsedDocuments) => void;
  readonly clock: ReaderClock & Pick<Clock, 'after'>;
  /** The system gets memory back when this thread has collected its references. */
  readonly collectGarbage: () => void;
}

export class SharedDocuments {
  private readonly options: SharedDocumentsOptions;
  private readonly buckets = new Map<string, BucketMemory>();
  /** Buckets whose memory is not requested now. */
  private readonly pauses = new Map<string, RequestPause>();
  private uncollectedBytes = 0;
  private isSendDue = false;

  constructor(options: SharedDocumentsOptions) {
    this.options = options;
  }

  /**
   * Calls `receive` with each document that this thread can read, and returns the positions of the others, which the data thread reads; null:
   * all. `keys` are those of a KeysRequest.
   */
  read(
    bucket: string,
    collection: number,
    keys: Buffer,
    end: number,
    receive: ReceiveDocument,
  ): readonly number[] | null {
    const memory = this.buckets.get(bucket);
    const others = memory?.read(collection, keys, end, receive) ?? null;
    const isComplete = others !== null && others.length === 0;
    if (memory !== undefined && !memory.unmarked.isEmpty) this.sendUnmarked(bucket, memory);
    if (!isComplete && this.mayRequest(bucket)) this.request(memory, { bucket, collection, keys });
    return others;
  }

  receive(message: MemoryReply | MemoryChange): void {
    if (message.kind === 'memoryChanged') this.release();
    else this.add(message);
  }

  private add({ bucket, collection, grant }: MemoryReply): void {
    if (this.pauses.size >= pausesMax) this.pauses.clear();
    if (grant === null) {
      this.pauses.set(bucket, { readsLeft: readsAfterRefusal });
      return;
    }
    this.pauses.delete(bucket);
    const known = this.buckets.get(bucket);
    const memory =
      known === undefined || known.isRevoked ? new BucketMemory(grant, this.options.clock) : known;
    this.buckets.set(bucket, memory);
    memory.add(collection, grant);
  }

  private sendUnmarked(bucket: string, { unmarked }: BucketMemory): void {
    if (unmarked.isDue) this.options.send({ kind: 'used', bucket, keys: unmarked.drain() });
    else if (!this.isSendDue) {
      this.isSendDue = true;
      this.options.clock.after(unmarkedMs, () => this.sendAllUnmarked());
    }
  }

  private sendAllUnmarked(): void {
    this.isSendDue = false;
    for (const [bucket, { unmarked }] of this.buckets)
      if (!unmarked.isEmpty) this.options.send({ kind: 'used', bucket, keys: unmarked.drain() });
  }

  /** False while a reply is awaited, and for some reads after a refusal. */
  private mayRequest(bucket: string): boolean {
    const pause = this.pauses.get(bucket);
    if (pause === undefined) return true;
    if (--pause.readsLeft >= 0) return false;
    this.pauses.delete(bucket);
    return true;
  }

  private request(memory: BucketMemory | undefined, read: Read): void {
    const { bucket, collection, keys } = read;
    const isKnown = memory?.knows(collection) ?? false;
    const { missingVbucket = none, missingPage = none } = memory ?? {};
    if (isKnown && missingVbucket === none && missingPage === none) return;
    this.pauses.set(bucket, { readsLeft: Infinity });
    const vbucket = missingVbucket === none ? keys.readUInt16BE(0) : missingVbucket;
    this.options.send({
      kind: 'memory',
      bucket,
      collection,
      vbucket,
      page: Math.max(missingPage, firstPage),
    });
  }

  /** Drops the references to memory that other threads have released. */
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

/** `readsLeft` reads request nothing; Infinity: until the reply. */
interface RequestPause {
  readsLeft: number;
}

interface Read {
  readonly bucket: string;
  readonly collection: number;
  readonly keys: Buffer;
}

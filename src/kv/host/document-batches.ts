// Reads documents in batches for the services beside the data thread, without a frame for each. The services read documents that are not in
// memory, or too large for a batch, through the data port.
import { assert } from '#base/assert.ts';
import { writeU32 } from '#wire/bytes.ts';
import {
  type BatchReply,
  type BatchRequest,
  Entry,
  EntryAt,
  entryHeadBytes,
  type KeysRequest,
  keyHeadBytes,
  slotRequestAt,
  type VbucketsRequest,
} from '#wire/document-batch.ts';
import { RequestSlot } from '#wire/request-slot.ts';
import { Datatype, Status } from '#wire/status.ts';
import type { BatchPort } from '../admin.ts';
import { visitedSlotsMax } from '../bucket/keys/bucket-keys.ts';
import { bodyOf, plainValue } from '../commands/values.ts';
import { emptyItemView } from '../data/documents.ts';
import { clientCasHi, clientCasLo } from '../dispatch/reply.ts';
import type { Directory } from '../served/directory.ts';
import type { BucketEngine, ServedBucket } from '../served/served-bucket.ts';
import type { TurnClock } from '../turn-clock.ts';
import { MemoryGrants } from './memory-grants.ts';
import { markUsed } from './used-documents.ts';

/** A batch of vbuckets ends after the one that reaches this size, or with which as many slots were visited as a turn allows. */
const enoughBytes = 256 << 10;
/** Limits of a batch and of a value in it. */
const batchBytesMax = 2 << 20;
const valueBytesMax = 128 << 10;
/** Room beyond `batchBytesMax` for one value, and the keys of all other documents of a vbucket. */
const restBytes = 3 << 20;
/** The size of the first buffer. */
const firstBytes = 64 << 10;

const emptyOutput = Buffer.alloc(0);

type ReadableBucket = ServedBucket & { readonly engine: BucketEngine };

export class DocumentBatches {
  private readonly directory: Directory;
  private readonly tick: () => void;
  private readonly view = emptyItemView();
  /** Empty after a reply, which transfers the buffer. */
  private output: Buffer<ArrayBuffer> = emptyOutput;
  private end = 0;
  /** The size of the next buffer, so that most batches fit without another copy. */
  private expectedBytes = firstBytes;

  constructor(directory: Directory, tick: () => void) {
    this.directory = directory;
    this.tick = tick;
  }

  /** Answers the requests of a service. */
  serve(port: BatchPort, clock: Pick<TurnClock, 'soon' | 'monotonicMs'>): void {
    const answer = (request: BatchRequest): void => {
      const reply = this.answer(request);
      port.postMessage(reply, reply.entries === null ? [] : [reply.entries.buffer as ArrayBuffer]);
    };
    const grants = new MemoryGrants(this.directory, clock, (message) => port.postMessage(message, []));
    let slot: RequestSlot | null = null;
    port.on('message', (message) => {
      // Null: the slot has a request.
      if (message === null) this.answerIn(slot as RequestSlot);
      else if (message.kind === 'memory') grants.answer(message);
      else if (message.kind === 'used') clock.soon(() => markUsed(this.directory, message));
      else if (message.kind === 'slot') slot = new RequestSlot(message.memory);
      // Deferred, so that it shares the turns of the data thread with clients.
      else clock.soon(() => answer(message));
    });
    port.on('close', () => grants.end());
    port.unref();
  }

  private answer(request: BatchRequest): BatchReply {
    const { id } = request;
    const bucket = this.begin(request.bucket, request.collection);
    if (bucket === null) return { id, entries: null, vbuckets: 0 };
    let vbuckets = 0;
    if (request.kind === 'keys') this.readKeys(request, bucket);
    else vbuckets = this.readVbuckets(request, bucket.engine);
    return { id, entries: this.takeOutput(), vbuckets };
  }

  /** Answers a request for few keys at once: another thread waits for it. */
  private answerIn(slot: RequestSlot): void {
    const bytes = slot.readRequest();
    if (bytes === null) return;
    const collection = bytes.readUInt32BE(slotRequestAt.collection);
    const keysAt = slotRequestAt.bucket + (bytes[slotRequestAt.bucketBytes] as number);
    const bucket = this.begin(bytes.toString('utf8', slotRequestAt.bucket, keysAt), collection);
    if (bucket !== null) this.readKeys({ collection, keys: bytes.subarray(keysAt) }, bucket);
    slot.answer(bucket && this.output.subarray(0, this.end));
  }

  /** Begins an empty batch; null if the collection cannot be read in batches. */
  private begin(name: string, collection: number): ReadableBucket | null {
    this.tick();
    const bucket = this.directory.buckets.get(name);
    if (bucket?.spec.type === 'cache' || bucket?.collections.get(collection) === undefined) return null;
    if (!bucket.engine) return null;
    bucket.engine.memory.heap.lock.noteReader();
    if (this.output.length === 0) this.output = Buffer.allocUnsafeSlow(this.expectedBytes);
    this.end = 0;
    return bucket as ReadableBucket;
  }

  /** The batch, to be transferred with its buffer; a buffer that is mostly empty is kept instead. */
  private takeOutput(): Buffer {
    const { output, end } = this;
    this.expectedBytes = Math.max(firstBytes, Math.ceil(end * 1.125));
    if (2 * end < output.length) {
      const entries = Buffer.allocUnsafeSlow(end);
      output.copy(entries, 0, 0, end);
      return entries;
    }
    this.output = emptyOutput;
    return output.subarray(0, end);
  }

  private readKeys(
    { collection, keys }: Pick<KeysRequest, 'collection' | 'keys'>,
    bucket: ReadableBucket,
  ): void {
    const { documents } = bucket.engine;
    const { view } = this;
    const counters = bucket.collectionCounts.countsOf(collection);
    const buffer = Buffer.from(keys.buffer, keys.byteOffset, keys.length);
    for (let at = 0; at < buffer.length; ) {
      const keyStart = at + keyHeadBytes;
      const keyEnd = keyStart + buffer.readUInt16BE(at + 2);
      const status =
        this.end > batchBytesMax
          ? Status.busy
          : documents.find(buffer.readUInt16BE(at), buffer, keyStart, keyEnd, view);
      at = keyEnd;
      if (status === Status.success) {
        counters.gets++;
        counters.getHits++;
        this.document(0, 0, false);
      } else if (status === Status.keyNotFound) {
        counters.gets++;
        this.head(Entry.missing, 0, 0);
      } else this.head(Entry.single, 0, 0);
    }
  }

  /** Returns how many vbuckets are in the batch. */
  private readVbuckets(
    { collection, vbuckets, keysOnly }: VbucketsRequest,
    { keys, documents }: BucketEngine,
  ): number {
    const { view } = this;
    let slots = 0;
    for (const [index, vb] of vbuckets.entries()) {
      const isDone =
        documents.isActive(vb) &&
        keys.visitAll(vb, collection, view, (keyStart, isResident) => {
          const isIncluded = keysOnly || (isResident && this.end <= batchBytesMax);
          if (isIncluded) this.document(keyStart, view.keyEnd - keyStart, keysOnly);
          else this.key(Entry.single, keyStart);
        });
      if (!isDone) this.head(Entry.vbucket, vb, 0);
      slots += keys.slots(vb);
      if (this.end >= enoughBytes || slots >= visitedSlotsMax) return index + 1;
    }
    return vbuckets.length;
  }

  /** Writes the document in the view. Compressed values stay so; extended attributes are left out. */
  private document(keyStart: number, keyBytes: number, keysOnly: boolean): void {
    const { view } = this;
    let { buffer, valueStart: start, valueEnd: end, datatype } = view;
    if (keysOnly) end = start;
    else if ((datatype & Datatype.xattr) !== 0) {
      const value = plainValue(view);
      start = bodyOf(view, value);
      ({ buffer, end } = value);
      datatype &= Datatype.json;
    }
    if (end - start > valueBytesMax) {
      this.key(Entry.single, keyStart, keyBytes);
      return;
    }
    const at = this.head(Entry.found, keyBytes, end - start);
    const { output } = this;
    output[at + EntryAt.datatype] = datatype;
    writeU32(output, at + EntryAt.flags, view.flags);
    writeU32(output, at + EntryAt.expiry, view.expiry);
    writeU32(output, at + EntryAt.cas, clientCasHi(view));
    writeU32(output, at + EntryAt.cas + 4, clientCasLo(view));
    const keyAt = at + entryHeadBytes;
    if (keyBytes > 0) view.buffer.copy(output, keyAt, keyStart, keyStart + keyBytes);
    buffer.copy(output, keyAt + keyBytes, start, end);
  }

  private key(entry: number, keyStart: number, keyBytes = this.view.keyEnd - keyStart): void {
    const at = this.head(entry, keyBytes, 0);
    this.view.buffer.copy(this.output, at + entryHeadBytes, keyStart, keyStart + keyBytes);
  }

  private head(entry: number, keyBytes: number, valueBytes: number): number {
    const { end: at } = this;
    this.end = at + entryHeadBytes + (entry === Entry.vbucket ? 0 : keyBytes) + valueBytes;
    if (this.end > this.output.length) this.grow(at);
    const { output } = this;
    output[at] = entry;
    output.writeUInt16BE(keyBytes, at + EntryAt.keyBytes);
    writeU32(output, at + EntryAt.valueBytes, valueBytes);
    return at;
  }

  private grow(writtenBytes: number): void {
    assert(this.end <= batchBytesMax + restBytes, 'a batch of documents is larger than batches may be');
    const larger = Buffer.allocUnsafeSlow(Math.min(2 * this.end, batchBytesMax + restBytes));
    this.output.copy(larger, 0, 0, writtenBytes);
    this.output = larger;
  }
}

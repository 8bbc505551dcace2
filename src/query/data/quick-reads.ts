// Reads few documents in the memory of the data service, or else while this thread waits for the data thread. That takes a third of the
// processor time of a request through the data port, since this thread does not return to its event loop to be woken by the reply.
import { type SlotMessage, slotRequestAt } from '#wire/document-batch.ts';
import { RequestSlot } from '#wire/request-slot.ts';
import { writeKeys } from './encoded-keys.ts';

/** How long other requests of this thread are delayed at most: reading takes microseconds unless the data thread is busy. */
const waitMs = 1;
/** The most reads in a row that go through the data port instead, after the data thread was busy for several reads. */
const skippedMax = 64;

/** This thread's end of a message channel. */
export interface SlotChannel {
  postMessage(message: SlotMessage): void;
}

/** Documents in the memory of the data service, which this thread reads itself. */
export interface DirectReads {
  /** The entries of documents; null: they must be requested. `keys` are those of a KeysRequest. */
  read(bucket: string, collection: number, keys: Buffer, start: number, end: number): Buffer | null;
}

/** Room for the keys of a direct read. */
const directKeysBytes = 8 << 10;

export class QuickReads {
  private readonly direct: DirectReads | null;
  private readonly keys = Buffer.allocUnsafeSlow(directKeysBytes);
  private readonly channel: SlotChannel;
  private readonly slot: RequestSlot;
  private skips = 0;
  private skipsLeft = 0;

  constructor(channel: SlotChannel, direct: DirectReads | null = null, slot = new RequestSlot()) {
    this.channel = channel;
    this.direct = direct;
    this.slot = slot;
    channel.postMessage({ kind: 'slot', memory: slot.memory });
  }

  /** The entries of the documents; null: the caller reads them through the data port. */
  read(bucket: string, collection: number, ids: readonly string[]): Buffer | null {
    return this.readDirectly(bucket, collection, ids) ?? this.request(bucket, collection, ids);
  }

  private readDirectly(bucket: string, collection: number, ids: readonly string[]): Buffer | null {
    if (this.direct === null) return null;
    const end = writeKeys(this.keys, 0, collection, ids);
    return end === null ? null : this.direct.read(bucket, collection, this.keys, 0, end);
  }

  private request(bucket: string, collection: number, ids: readonly string[]): Buffer | null {
    const { slot } = this;
    if (this.skipsLeft > 0) {
      this.skipsLeft--;
      return null;
    }
    if (!slot.isFree) return null;
    const bytes = this.write(bucket, collection, ids);
    if (bytes === null) return null;
    const entries = slot.ask(bytes, this.wake, waitMs);
    this.skips = slot.isFree ? 0 : Math.min(skippedMax, this.skips * 2 + 1);
    this.skipsLeft = this.skips;
    return entries;
  }

  private readonly wake = (): void => this.channel.postMessage(null);

  private write(bucket: string, collection: number, ids: readonly string[]): number | null {
    const { bytes } = this.slot;
    const bucketBytes = bytes.write(bucket, slotRequestAt.bucket);
    bytes.writeUInt32BE(collection, slotRequestAt.collection);
    bytes[slotRequestAt.bucketBytes] = bucketBytes;
    return writeKeys(bytes, slotRequestAt.bucket + bucketBytes, collection, ids);
  }
}

// Reads documents in the memory of the data service (`readNow`), or requests a few documents from the data thread and blocks this thread until
// they arrive (`read`). The latter takes a third of the processor time of a request through the data port, since this thread need not return to
// its event loop and be woken by the reply.
import type { StoredDocument } from '#sqlpp/datastore/documents.ts';
import { type MemoryDocument, type SlotMessage, slotRequestAt } from '#wire/document-batch.ts';
import { RequestSlot } from '#wire/request-slot.ts';
import { DocumentInMemory } from './document-in-memory.ts';
import { writeKeys } from './encoded-keys.ts';

/** How long other requests of this thread are delayed at most: reading takes microseconds unless the data thread is busy. */
const waitMs = 1;
/** After the data thread was too busy to answer in time, the next reads go through the data port: at most this many. */
const skippedMax = 64;

/** This thread's end of a message channel. */
export interface SlotChannel {
  postMessage(message: SlotMessage): void;
}

/** Documents in the memory of the data service, which this thread reads itself. */
export interface DirectReads {
  /**
   * Calls `receive` with each document that is in memory, and returns the positions of the others; null: all are others. `keys` are those of a KeysRequest. A
   * document is valid during the call only.
   */
  read(
    bucket: string,
    collection: number,
    keys: Buffer,
    end: number,
    receive: (document: MemoryDocument, position: number) => void,
  ): readonly number[] | null;
}

/** Room for the keys of 256 rows, however long they are. */
const directKeysBytes = 192 << 10;

export class QuickReads {
  private readonly direct: DirectReads | null;
  private readonly keys = Buffer.allocUnsafeSlow(directKeysBytes);
  private readonly channel: SlotChannel;
  private readonly slot: RequestSlot;
  /** How many reads were left to the data port after the last attempt; 0: the attempt succeeded. */
  private skips = 0;
  /** How many of these reads are still to come. */
  private skipsLeft = 0;

  constructor(channel: SlotChannel, direct: DirectReads | null = null, slot = new RequestSlot()) {
    this.channel = channel;
    this.direct = direct;
    this.slot = slot;
    channel.postMessage({ kind: 'slot', memory: slot.memory });
  }

  /** Calls `receive` with the documents in memory, as `Documents.readNow` does. */
  readNow(
    bucket: string,
    collection: number,
    ids: readonly string[],
    receive: (document: StoredDocument, position: number) => void,
  ): readonly number[] | null {
    if (this.direct === null) return null;
    const end = writeKeys(this.keys, 0, collection, ids);
    if (end === null) return null;
    const stored = new DocumentInMemory();
    return this.direct.read(bucket, collection, this.keys, end, (document, position) => {
      stored.set(ids[position] as string, document);
      receive(stored, position);
    });
  }

  /** The entries of few documents; null: the caller reads them through the data port. */
  read(bucket: string, collection: number, ids: readonly string[]): Buffer | null {
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

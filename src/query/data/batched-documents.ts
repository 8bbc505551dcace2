// The query thread's side of batches: documents come from the data thread in one message for many, without a frame for each. Documents
// that the data thread leaves out are read through the data port.
import { type Deferred, deferred } from '#base/deferred.ts';
import { DataPortError } from '#client/data-port-error.ts';
import type { StoredDocument } from '#sqlpp/datastore/documents.ts';
import {
  type BatchReply,
  type BatchRequest,
  type DataMessage,
  Entry,
  EntryAt,
  entryHeadBytes,
  type VbucketsRequest,
} from '#wire/document-batch.ts';
import { Datatype } from '#wire/status.ts';
import { encodedKeys } from './encoded-keys.ts';
import { inflatedValue } from './inflated-value.ts';

/** This thread's end of a message channel. */
export interface BatchChannel {
  on(event: 'message', listener: (message: DataMessage) => void): unknown;
  on(event: 'close', closed: () => void): unknown;
  postMessage(request: BatchRequest): void;
  unref(): void;
  close(): void;
}

/** Requests that the data thread has at a time, for all statements together: it answers them without other work in between. */
const inFlightMax = 2;

type WithoutId<T> = T extends { readonly id: number } ? Omit<T, 'id'> : never;

export class BatchedDocuments {
  private readonly channel: BatchChannel;
  private readonly answers = new Map<number, Deferred<BatchReply>>();
  private readonly waiting: BatchRequest[] = [];
  private inFlight = 0;
  private lastId = 0;
  private isClosed = false;

  constructor(channel: BatchChannel) {
    this.channel = channel;
    channel.on('message', (message) => {
      if (!('kind' in message)) this.receive(message);
    });
    channel.on('close', () => this.end());
    channel.unref();
  }

  readKeys(bucket: string, collection: number, ids: readonly string[]): Promise<BatchReply> {
    return this.request({ kind: 'keys', bucket, collection, keys: encodedKeys(collection, ids) });
  }

  readVbuckets(request: Omit<VbucketsRequest, 'kind' | 'id'>): Promise<BatchReply> {
    return this.request({ kind: 'vbuckets', ...request });
  }

  close(): void {
    this.channel.close();
    this.end();
  }

  private request(request: WithoutId<BatchRequest>): Promise<BatchReply> {
    if (this.isClosed) return Promise.reject(new DataPortError('the data service has ended'));
    const id = ++this.lastId;
    const answer = deferred<BatchReply>();
    this.answers.set(id, answer);
    this.waiting.push({ ...request, id } as BatchRequest);
    this.send();
    return answer.promise;
  }

  private send(): void {
    while (this.inFlight < inFlightMax) {
      const next = this.waiting.shift();
      if (next === undefined) return;
      this.inFlight++;
      this.channel.postMessage(next);
    }
  }

  private receive(reply: BatchReply): void {
    const answer = this.answers.get(reply.id);
    this.answers.delete(reply.id);
    this.inFlight--;
    this.send();
    answer?.resolve(reply);
  }

  private end(): void {
    this.isClosed = true;
    this.waiting.length = 0;
    for (const answer of this.answers.values())
      answer.reject(new DataPortError('the data service ended before it answered'));
    this.answers.clear();
  }
}

/** Walks through the entries of a reply. */
export class EntryReader {
  private readonly bytes: Buffer;
  private readonly view: DataView;
  private at = 0;
  private next = 0;

  constructor(entries: Uint8Array) {
    this.bytes = Buffer.from(entries.buffer, entries.byteOffset, entries.length);
    this.view = new DataView(entries.buffer, entries.byteOffset, entries.length);
  }

  /** Moves to the next entry and returns its kind; null: none. */
  read(): number | null {
    const { bytes, view, next: at } = this;
    if (at >= bytes.length) return null;
    this.at = at;
    this.next = at + entryHeadBytes + view.getUint32(at + EntryAt.valueBytes);
    if (bytes[at] !== Entry.vbucket) this.next += view.getUint16(at + EntryAt.keyBytes);
    return bytes[at] as number;
  }

  /** The vbucket of an entry of that kind. */
  get vbucket(): number {
    return this.view.getUint16(this.at + EntryAt.keyBytes);
  }

  get key(): string {
    const start = this.at + entryHeadBytes;
    return this.bytes.toString('utf8', start, start + this.view.getUint16(this.at + EntryAt.keyBytes));
  }

  document(id: string): StoredDocument {
    const { bytes, view, at, next } = this;
    const datatype = bytes[at + EntryAt.datatype] as number;
    const start = next - view.getUint32(at + EntryAt.valueBytes);
    if ((datatype & Datatype.snappy) === 0)
      return new EntryDocument(id, bytes, view, at, { start, end: next });
    const value = inflatedValue(bytes, start, next);
    return new EntryDocument(id, bytes, view, at, { buffer: value, start: 0, end: value.length });
  }
}

/** A document in a reply. Most statements read only some of its members. */
class EntryDocument implements StoredDocument {
  readonly id: string;
  readonly place: NonNullable<StoredDocument['place']>;
  private readonly entry: Uint8Array;
  private readonly view: DataView;
  private readonly at: number;

  constructor(
    id: string,
    entry: Buffer,
    view: DataView,
    at: number,
    { buffer = entry, start, end }: { buffer?: Buffer; start: number; end: number },
  ) {
    this.id = id;
    this.entry = entry;
    this.view = view;
    this.at = at;
    this.place = { buffer, start, end };
  }

  get bytes(): Uint8Array {
    const { buffer, start, end } = this.place;
    return buffer.subarray(start, end);
  }

  get isJson(): boolean {
    return ((this.entry[this.at + EntryAt.datatype] as number) & Datatype.json) !== 0;
  }

  get cas(): bigint {
    return this.view.getBigUint64(this.at + EntryAt.cas);
  }

  get expiration(): number {
    return this.view.getUint32(this.at + EntryAt.expiry);
  }

  get flags(): number {
    return this.view.getUint32(this.at + EntryAt.flags);
  }
}

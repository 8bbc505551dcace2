// The change streams of one connection: registers them, controls how much each may send, and closes dead connections.
import type { Clock, Timer } from '#ports/clock.ts';
import { EndReason, type MarkerVersion, OpenFlag } from '#wire/dcp.ts';
import { Feature } from '#wire/features.ts';
import type { Output } from '#wire/output.ts';
import { Datatype } from '#wire/status.ts';
import type { BucketAccess } from '../collections/access.ts';
import type { Collections } from '../collections/collections.ts';
import type { Directory } from '../served/directory.ts';
import type { StreamConnection } from '../served/producers.ts';
import type { ServedBucket } from '../served/served-bucket.ts';
import type { Client, Streamer } from '../session/client.ts';
import { type Controls, defaultControls } from '../stream/controls.ts';
import { isBarred } from '../stream/filter.ts';
import { type ItemForm, MessageWriter } from '../stream/message-writer.ts';
import { Stream, type StreamHost, type StreamOptions } from '../stream/stream.ts';
import { ClientWatch } from './client-watch.ts';
import { PageBudget } from './page-budget.ts';

const producerLimits = {
  /** Bytes written at a time; afterwards other connections run. */
  batchBytes: 256 * 1024,
  /** Messages written at a time: small ones cost more than their bytes. */
  batchMessages: 1024,
  /** Above this many bytes that the operating system has not accepted, sending pauses. */
  unsentBytes: 1024 * 1024,
  /** Streams of one connection. */
  streams: 4096,
  /** While the client accepts nothing: how long pages stay in memory, and how long the connection stays open with unsent bytes. */
  pagesKeptMs: 5_000,
  unsentKeptMs: 120_000,
} as const;

/** Interval of the checks of progress, access and due NOOPs. */
const tickMs = 1000;

export interface ProducerOptions {
  name: string;
  flags: number;
  connection: Client;
  bucket: ServedBucket;
  directory: Directory;
  output: Output;
  clock: Clock;
}

export class Producer implements StreamHost, Streamer, StreamConnection {
  readonly name: string;
  readonly bucket: ServedBucket;
  readonly writer: MessageWriter;
  readonly controls: Controls = defaultControls();
  readonly figures = { itemsSent: 0, bytesSent: 0, bytesUnacked: 0, pages: 0 };
  readonly pages = new PageBudget();
  private readonly options: ProducerOptions;
  private readonly streams = new Map<string, Stream>();
  private readonly readyStreams = new Set<Stream>();
  /** Streams that wait until the connection may read another page. */
  private readonly waitingForPage = new Set<Stream>();
  /** Bytes and messages that may still be written in this batch. */
  private batchLeft = 0;
  private messagesLeft = 0;
  private isScheduled = false;
  private isClosed = false;
  private access: BucketAccess | null;
  private timer: Timer;
  /** When the connection was opened for change streams. */
  readonly openedMs: number;
  lastSentMs: number;
  private readonly watch: ClientWatch;

  constructor(options: ProducerOptions) {
    this.options = options;
    this.name = options.name;
    this.bucket = options.bucket;
    this.writer = new MessageWriter(options.output);
    this.access = options.connection.session.access;
    this.openedMs = this.lastSentMs = options.clock.monotonicMs();
    this.watch = new ClientWatch(this.openedMs);
    this.timer = options.clock.after(tickMs, () => this.tick());
  }

  /** Flow control stops the sending: the client has not acknowledged enough, or its socket accepts no more. */
  get isBlocked(): boolean {
    const { bufferBytes } = this.controls;
    const isFull = bufferBytes > 0 && this.figures.bytesUnacked >= bufferBytes;
    return isFull || this.options.connection.unsentBytes > producerLimits.unsentBytes;
  }

  get isAwaitingNoop(): boolean {
    return this.watch.isAwaitingNoop;
  }

  all(): Stream[] {
    return [...this.streams.values()];
  }

  get streamCount(): number {
    return this.streams.size;
  }

  get collections(): Collections {
    return this.bucket.collections;
  }

  get markerVersion(): MarkerVersion {
    return this.controls.markerVersion;
  }

  get eventTables(): boolean {
    return this.controls.eventTables;
  }

  get reportsSeqnos(): boolean {
    return this.options.connection.session.has(Feature.collections);
  }

  find(vb: number, streamId: number): Stream | undefined {
    return this.streams.get(keyOf(vb, streamId));
  }

  get isFull(): boolean {
    return this.streams.size >= producerLimits.streams;
  }

  add(options: StreamOptions): void {
    const { vb, streamId } = options.address;
    const stream = new Stream(this, options);
    this.streams.set(keyOf(vb, streamId), stream);
    stream.start();
  }

  /** The form in which documents are sent on this connection. */
  form(withoutValue: boolean): ItemForm {
    const { controls, options } = this;
    const { session } = options.connection;
    const has = (flag: number): boolean => (options.flags & flag) !== 0;
    return {
      collections: session.has(Feature.collections),
      json: session.has(Feature.json),
      snappy: session.has(Feature.snappy),
      xattrs: has(OpenFlag.includeXattrs) && session.has(Feature.xattr),
      deletedUserXattrs: has(OpenFlag.includeDeletedUserXattrs) || controls.deletedUserXattrs,
      noValue: withoutValue || has(OpenFlag.noValue) || has(OpenFlag.noValueWithDatatype),
      keepDatatype: has(OpenFlag.noValueWithDatatype),
      datatypes:
        (session.has(Feature.json) ? Datatype.json : 0) |
        (session.has(Feature.snappy) ? Datatype.snappy : 0) |
        (session.has(Feature.xattr) ? Datatype.xattr : 0),
      deleteTimes: has(OpenFlag.includeDeleteTimes),
      expiryOpcode: controls.expiryOpcode,
      forceCompression: controls.forceCompression,
    };
  }

  acknowledged(bytes: number): void {
    const { figures } = this;
    figures.bytesUnacked = Math.max(0, figures.bytesUnacked - bytes);
    this.schedule();
  }

  /** The client responded to a message. */
  answered(): void {
    this.watch.answered();
  }

  drained(): void {
    this.schedule();
  }

  /** Called when the connection is closed. */
  gone(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.timer.cancel();
    for (const stream of [...this.streams.values()]) stream.close();
    this.bucket.producers.delete(this.name, this);
  }

  /** The bucket no longer serves the documents that the streams read. */
  sourceGone(): void {
    for (const stream of this.streams.values()) stream.endSoon(EndReason.stateChanged);
  }

  /** The bucket is deleted. */
  bucketGone(): void {
    this.closeWith(EndReason.disconnected);
  }

  /** Another connection opened with the same name. */
  replaced(): void {
    // Deferred, because a request of the other connection is being run.
    this.options.clock.soon(() => {
      this.closeWith(EndReason.disconnected);
      this.gone();
    });
  }

  sent(isDocument: boolean): boolean {
    const { controls, figures } = this;
    const { bytes } = this.writer;
    figures.bytesSent += bytes;
    if (isDocument) figures.itemsSent++;
    this.batchLeft -= bytes;
    this.messagesLeft--;
    if (controls.bufferBytes > 0) figures.bytesUnacked += bytes;
    return this.hasRoom;
  }

  ready(stream: Stream): void {
    this.readyStreams.add(stream);
    this.schedule();
  }

  takePageBytes(stream: Stream): number {
    const bytes = this.pages.reserve();
    this.figures.pages = this.pages.pages;
    // A stream without a page waits for one. A stream with a page may still be in the set, if a new change made it ready earlier.
    if (bytes === 0) this.waitingForPage.add(stream);
    else this.waitingForPage.delete(stream);
    return bytes;
  }

  backfillDone(heldBytes: number): void {
    this.pages.giveBack(heldBytes);
    this.figures.pages = this.pages.pages;
    this.wakeWaiting();
  }

  /** Wakes as many streams as there are free pages. A woken stream may not need its page any more, so `tick` calls this too. */
  private wakeWaiting(): void {
    let { free } = this.pages;
    for (const stream of this.waitingForPage) {
      if (free-- <= 0) return;
      this.waitingForPage.delete(stream);
      this.ready(stream);
    }
  }

  ended(stream: Stream): void {
    const { vb, streamId } = stream.options.address;
    this.readyStreams.delete(stream);
    this.waitingForPage.delete(stream);
    this.streams.delete(keyOf(vb, streamId));
  }

  nowMs(): number {
    return this.options.clock.monotonicMs();
  }

  private get isBatchFull(): boolean {
    return this.batchLeft <= 0 || this.messagesLeft <= 0;
  }

  private beginBatch(): void {
    this.batchLeft = producerLimits.batchBytes;
    this.messagesLeft = producerLimits.batchMessages;
  }

  private get hasRoom(): boolean {
    const { controls, figures } = this;
    if (this.isBatchFull) return false;
    return controls.bufferBytes === 0 || figures.bytesUnacked < controls.bufferBytes;
  }

  private schedule(): void {
    if (this.isScheduled || this.isClosed || this.readyStreams.size === 0) return;
    this.isScheduled = true;
    this.options.clock.soon(() => {
      this.isScheduled = false;
      this.pump();
    });
  }

  private pump(): void {
    const { connection } = this.options;
    if (this.isClosed || connection.unsentBytes > producerLimits.unsentBytes) return;
    if (!this.followUsers()) return;
    this.lastSentMs = this.nowMs();
    connection.send(() => this.fill());
    // If the client's buffer is full, its next acknowledgement continues; if the socket is full, `drained` does.
    if (this.isBatchFull) this.schedule();
  }

  private fill(): void {
    this.beginBatch();
    for (const stream of this.readyStreams) {
      if (!this.hasRoom) return;
      // Moved to the end of the set: round robin.
      this.readyStreams.delete(stream);
      if (stream.step()) this.readyStreams.add(stream);
    }
  }

  /** Applies changes of users and collections. If the connection lost its access it is closed, and the result is false. */
  private followUsers(): boolean {
    const { connection, directory, bucket } = this.options;
    const { session } = connection;
    if (session.bucket !== bucket) return this.closeWith(EndReason.disconnected);
    if (!session.refresh(directory) || session.access === null)
      return this.closeWith(EndReason.lostPrivileges);
    if (this.access === session.access) return true;
    this.access = session.access;
    for (const stream of this.streams.values()) this.checkStream(stream, session.access);
    return true;
  }

  private checkStream(stream: Stream, access: BucketAccess): void {
    const { filter } = stream.options;
    if (isBarred(filter, this.collections, access)) stream.endSoon(EndReason.lostPrivileges);
  }

  private tick(): void {
    this.timer = this.options.clock.after(tickMs, () => this.tick());
    const { connection, clock } = this.options;
    const nowMs = clock.monotonicMs();
    if (!this.checkProgress(nowMs) || !this.followUsers()) return;
    const { noop, noopIntervalMs } = this.controls;
    const isNoopDue = noop && this.watch.isNoopDue(nowMs, noopIntervalMs);
    if (isNoopDue && this.watch.hasMissedNoops) {
      connection.destroy();
      return;
    }
    this.beginBatch();
    connection.send(() => {
      if (isNoopDue) this.writer.noop(this.watch.nextNoop(nowMs));
      for (const stream of this.streams.values()) if (this.hasRoom) stream.sendPosition();
    });
    this.wakeWaiting();
    this.schedule();
  }

  /** Releases the pages of a client that accepts nothing, and later closes its connection; the result is then false. */
  private checkProgress(nowMs: number): boolean {
    const { unsentBytes } = this.options.connection;
    const { bytesSent, bytesUnacked } = this.figures;
    const idleMs = this.watch.idleMs(nowMs, { bytesSent, bytesUnacked, unsentBytes });
    if (idleMs >= producerLimits.pagesKeptMs && this.isBlocked)
      for (const stream of this.streams.values()) stream.dropReadAhead();
    const isAlive = unsentBytes === 0 || idleMs < producerLimits.unsentKeptMs;
    return isAlive || this.closeWith(EndReason.tooSlow);
  }

  /** Ends all streams with the reason, then closes the connection. */
  private closeWith(reason: EndReason): false {
    const { connection } = this.options;
    connection.send(() => {
      for (const stream of this.all()) stream.endNow(reason);
    });
    connection.close();
    return false;
  }
}

const keyOf = (vb: number, streamId: number): string => `${vb}/${streamId}`;

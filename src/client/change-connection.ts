// One connection of change streams on a bucket: streams are requested by vbucket, their messages go to one handler in order.
// Flow control acknowledges what the handler has consumed; NOOPs detect a dead peer.
import { deferred } from '#base/deferred.ts';
import { readU64 } from '#wire/bytes.ts';
import {
  DcpBufferAck,
  DcpCloseStream,
  DcpControl,
  DcpNoop,
  DcpOpen,
  DcpStreamRequest,
} from '#wire/commands/stream.ts';
import { type EndReason, Message, OpenFlag, StreamFlag } from '#wire/dcp.ts';
import { Feature } from '#wire/features.ts';
import { type Frame, Magic, responseStatus } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { Change, type CollectionEvent, eventOf } from './change.ts';
import { DataPortError } from './data-port-error.ts';
import { failoverEntries } from './seqnos.ts';
import type { WireAccount, WireAddress } from './wire-address.ts';
import { WireConnection } from './wire-connection.adapter.ts';

export interface FailoverEntry {
  uuid: bigint;
  seqno: number;
}

/** The client's position in a vbucket. All zero: no changes yet. */
export interface StreamPosition {
  uuid: bigint;
  seqno: number;
  /** The client's current snapshot; both equal `seqno` if it is complete. */
  snapshotStart: number;
  snapshotEnd: number;
}

export interface StreamRequest {
  from: StreamPosition;
  /** The stream ends after this seqno; absent: never; 'latest': the present high seqno. */
  until?: number | 'latest';
}

export type StreamReply =
  /** The failover log, newest entry first; its first uuid identifies the current history. */
  | { kind: 'open'; log: FailoverEntry[] }
  /** The client must undo its changes after this seqno and request the stream again. */
  | { kind: 'rollback'; seqno: number }
  | { kind: 'refused'; status: number };

/** Receives the messages of all streams of a connection, in order per vbucket. Its methods must not throw or block. */
export interface ChangeHandler {
  /** The stream of a vbucket starts; the first uuid identifies the history of its messages. */
  opened(vb: number, failoverLog: readonly FailoverEntry[]): void;
  /** Valid during the call. */
  change(change: Change): void;
  snapshot(vb: number, start: number, end: number): void;
  /** There are no matching changes up to this seqno. */
  advanced(vb: number, seqno: number): void;
  event(event: CollectionEvent): void;
  ended(vb: number, reason: EndReason): void;
  /** All received messages have been delivered: the handler may commit now. */
  drained(): void;
}

export interface ChangeConnectionOptions {
  address: WireAddress;
  account: WireAccount;
  bucket: string;
  /** The name of the connection in statistics; another connection of the same name is closed. */
  name: string;
  /** Collection ids; absent: the whole bucket. */
  collections?: readonly number[];
  withXattrs: boolean;
  /** Also the user attributes of deletions. */
  withDeletedXattrs?: boolean;
  /** Keys and metadata only. */
  withoutValues?: boolean;
  /**
   * A stream from seqno 0 need not have the deletions and system events that were made before it was opened; the data service can then
   * read the documents from memory.
   */
  documentsOnly?: boolean;
  /** Values are delivered as the node sent them, possibly compressed. */
  keepsCompressed?: boolean;
  handler: ChangeHandler;
}

const features = [
  Feature.xattr,
  Feature.xerror,
  Feature.selectBucket,
  Feature.snappy,
  Feature.json,
  Feature.altRequest,
  Feature.collections,
];

/** The flow-control window: unacknowledged bytes that the server may send. */
const bufferBytes = 4 << 20;
const acknowledgeBytes = 1 << 20;
const noopSeconds = 10;
const unlimitedEnd = 2n ** 64n - 1n;

export class ChangeConnection {
  readonly closed: Promise<DataPortError>;
  private readonly connection: WireConnection;
  private readonly options: ChangeConnectionOptions;
  private readonly filter: Buffer;
  /** The change of the current message, reused for each. */
  private readonly current = new Change();
  private unacknowledged = 0;
  private isPaused = false;

  private constructor(connection: WireConnection, options: ChangeConnectionOptions) {
    this.connection = connection;
    this.options = options;
    this.closed = connection.closed;
    const { collections } = options;
    const ids = collections?.map((id) => id.toString(16));
    this.filter = ids === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify({ collections: ids }));
    connection.onMessage = (frame) => this.message(frame);
    connection.onDrained = () => this.drained();
  }

  /**
   * @throws StatusError when the bucket cannot be selected, or has no change streams
   * @throws DataPortError without a connection
   */
  static async open(options: ChangeConnectionOptions): Promise<ChangeConnection> {
    const { address } = options;
    // Three missed NOOPs.
    const timeoutMs = Math.max(address.timeoutMs, noopSeconds * 3_000);
    const connection = await WireConnection.openOnBucket(
      { ...address, timeoutMs },
      { features, account: options.account, bucket: options.bucket },
    );
    try {
      const opened = new ChangeConnection(connection, options);
      await opened.begin();
      return opened;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  request(vb: number, { from, until }: StreamRequest): Promise<StreamReply> {
    const extras = Buffer.alloc(48);
    if (until === 'latest') extras.writeUInt32BE(StreamFlag.toLatest);
    extras.writeBigUInt64BE(BigInt(from.seqno), 8);
    extras.writeBigUInt64BE(typeof until === 'number' ? BigInt(until) : unlimitedEnd, 16);
    extras.writeBigUInt64BE(from.uuid, 24);
    extras.writeBigUInt64BE(BigInt(from.snapshotStart), 32);
    extras.writeBigUInt64BE(BigInt(from.snapshotEnd), 40);
    const answer = deferred<StreamReply>();
    const request = { opcode: DcpStreamRequest.opcode, vb, extras, value: this.filter };
    this.connection.send(request, (frame) => {
      if (frame === null) answer.reject(new DataPortError('the connection of change streams ended'));
      else answer.resolve(this.reportOpened(vb, streamReply(frame)));
      return true;
    });
    return answer.promise;
  }

  /** Reports the start of a stream to the handler, before the messages after the reply are delivered. */
  private reportOpened(vb: number, reply: StreamReply): StreamReply {
    if (reply.kind === 'open') this.options.handler.opened(vb, reply.log);
    return reply;
  }

  /** The handler receives the stream end, if the stream exists. */
  async closeStream(vb: number): Promise<void> {
    await this.connection.request({ opcode: DcpCloseStream.opcode, vb });
  }

  /** Stops reading until `resume`; flow control then stops the server. */
  pause(): void {
    this.isPaused = true;
    this.connection.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.connection.resume();
    this.acknowledge();
  }

  /** `closed` resolves with the reason. */
  close(reason?: DataPortError): void {
    this.connection.close(reason);
  }

  private async begin(): Promise<void> {
    const { connection, options } = this;
    const extras = Buffer.alloc(8);
    const withXattrs = options.withXattrs ? OpenFlag.includeXattrs : 0;
    const withDeletedXattrs = options.withDeletedXattrs ? OpenFlag.includeDeletedUserXattrs : 0;
    const withoutValues = options.withoutValues ? OpenFlag.noValue : 0;
    const contentFlags = withXattrs | withDeletedXattrs | withoutValues;
    extras.writeUInt32BE(OpenFlag.producer | OpenFlag.includeDeleteTimes | contentFlags, 4);
    await connection.expect({ opcode: DcpOpen.opcode, extras, key: Buffer.from(options.name) });
    const controls = {
      connection_buffer_size: bufferBytes,
      enable_noop: true,
      set_noop_interval: noopSeconds,
      enable_expiry_opcode: true,
      send_stream_end_on_client_close_stream: true,
    };
    const control = (name: string, value: unknown) => ({
      opcode: DcpControl.opcode,
      key: Buffer.from(name),
      value: Buffer.from(String(value)),
    });
    await Promise.all([
      ...Object.entries(controls).map(([name, value]) => connection.expect(control(name, value))),
      // A node of an earlier version refuses this control, and sends the deletions too.
      options.documentsOnly === true && connection.request(control('divan_documents_only', true)),
    ]);
    connection.expectsMessages = true;
  }

  private message(frame: Frame): void {
    if (frame.opcode === DcpNoop.opcode) {
      this.connection.sendUnanswered({ magic: Magic.response, opcode: DcpNoop.opcode, opaque: frame.opaque });
      return;
    }
    this.unacknowledged += frame.end - frame.start;
    try {
      this.dispatch(frame);
    } catch (error) {
      if (!(error instanceof DataPortError)) throw error;
      this.close(error);
    }
  }

  private dispatch(frame: Frame): void {
    const { handler } = this.options;
    const { buffer, extrasStart, opcode, vb } = frame;
    if (opcode === Message.mutation || opcode === Message.deletion || opcode === Message.expiration) {
      this.current.fill(frame, this.options.keepsCompressed);
      handler.change(this.current);
    } else if (opcode === Message.snapshotMarker)
      handler.snapshot(vb, readU64(buffer, extrasStart), readU64(buffer, extrasStart + 8));
    else if (opcode === Message.seqnoAdvanced) handler.advanced(vb, readU64(buffer, extrasStart));
    else if (opcode === Message.systemEvent) handler.event(eventOf(frame));
    else if (opcode === Message.streamEnd) handler.ended(vb, buffer.readUInt32BE(extrasStart) as EndReason);
  }

  private drained(): void {
    this.options.handler.drained();
    if (this.unacknowledged >= acknowledgeBytes) this.acknowledge();
  }

  private acknowledge(): void {
    if (this.isPaused || this.unacknowledged === 0) return;
    const extras = Buffer.alloc(4);
    extras.writeUInt32BE(this.unacknowledged);
    this.unacknowledged = 0;
    this.connection.sendUnanswered({ opcode: DcpBufferAck.opcode, extras });
  }
}

function streamReply(frame: Frame): StreamReply {
  const { buffer, valueStart, end } = frame;
  const status = responseStatus(frame);
  if (status === Status.success)
    return { kind: 'open', log: failoverEntries(buffer.subarray(valueStart, end)) };
  if (status === Status.rollback) return { kind: 'rollback', seqno: readU64(buffer, valueStart) };
  return { kind: 'refused', status };
}

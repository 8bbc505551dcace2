// One connection to a data port: sends and receives frames, with many requests in flight. Replies are matched by opaque and may come in
// any order; requests from the server (change streams, NOOP) go to `onMessage`. The only commands that it knows are those that
// begin a session.
import type { Socket } from 'node:net';
import { type Deferred, deferred } from '#base/deferred.ts';
import { Hello, SaslAuth, SelectBucket } from '#wire/commands/session.ts';
import { emptyFrame, type Frame, FrameResult, Magic } from '#wire/frame.ts';
import { FrameReader } from '#wire/frame-reader.ts';
import { Output, type RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { DataPortError, StatusError } from './data-port-error.ts';
import { logInByScram } from './scram.ts';
import type { WireAccount, WireAddress } from './wire-address.ts';
import { replyOf, successOf, type WireReply } from './wire-reply.ts';
import { openSocket } from './wire-socket.adapter.ts';
import { putRequest, writeOutput } from './write-request.ts';

/** What sends requests: one connection, or those to all nodes of a cluster. */
export interface RequestSender {
  readonly isClosed: boolean;
  /** Sends a request. `receive` gets its replies in order and must not throw. */
  send(request: RequestParts, receive: ReceiveReply): void;
  /** @throws DataPortError when the connection ends first */
  request(request: RequestParts): Promise<WireReply>;
  /** Like `request`, but rejects with a StatusError for any status other than success. */
  expect(request: RequestParts): Promise<WireReply>;
  close(): void;
}

export interface BucketSession {
  features: readonly number[];
  account: WireAccount;
  bucket: string;
}

/** Receives a reply as offsets that are valid during the call; null if the connection ended. Returns true after the last reply. */
export type ReceiveReply = (frame: Frame | null) => boolean;

/** Above the server's limit for requests: a 20 MiB document with attributes and framing must fit. */
const frameBytesMax = 64 << 20;
/** Further requests wait until others have been answered. */
export const inFlightMax = 16_384;
/** Bytes of requests that one write may have: a larger buffer would be allocated for each write. */
const writtenAtOnceBytes = 48 << 10;
const agent = Buffer.from('{"a":"divan"}');

export class WireConnection implements RequestSender {
  /** Receives requests from the server as offsets that are valid during the call. */
  onMessage: ((frame: Frame) => void) | null = null;
  /** The server sends NOOPs: close the connection after silence even without requests in flight. */
  expectsMessages = false;
  /** Called after all received frames have been delivered. */
  onDrained: (() => void) | null = null;
  /** Resolves with the reason once the connection has ended. */
  readonly closed: Promise<DataPortError>;
  private readonly socket: Socket;
  private readonly reader = new FrameReader(frameBytesMax);
  private readonly frame = emptyFrame();
  private readonly output = new Output(16 << 10);
  private readonly unanswered = new Map<number, ReceiveReply>();
  /** Requests that wait because too many are unanswered. */
  private readonly waiting: { readonly request: RequestParts; readonly receive: ReceiveReply }[] = [];
  private readonly end: Deferred<DataPortError> = deferred();
  private reason: DataPortError | null = null;
  private lastOpaque = 0;
  private isFlushDue = false;
  private isOpen = false;
  private isPaused = false;
  private isResumeDue = false;
  /** The time limit passed while reading was paused; `resume` restarts it. */
  private isLimitDue = false;
  private isDelivering = false;

  private constructor(address: WireAddress) {
    const { host, port, timeoutMs, connectTimeoutMs = timeoutMs } = address;
    this.closed = this.end.promise;
    this.socket = openSocket(address, {
      receive: (buffer, bytes) => this.receive(buffer, bytes),
      fail: (problem) => this.fail(new DataPortError(problem)),
    });
    this.socket.on('error', (error) => this.fail(new DataPortError(error.message, { cause: error })));
    this.socket.on('close', () => this.fail(new DataPortError('the data port closed the connection')));
    this.socket.setTimeout(connectTimeoutMs);
    // A callback of `setTimeout` would be called once only, perhaps while no request waits.
    this.socket.on('timeout', () => {
      const isIdle = this.unanswered.size === 0 && !this.expectsMessages && this.isOpen;
      this.isLimitDue = this.socket.isPaused();
      if (isIdle || this.isLimitDue) return;
      const waitedMs = this.isOpen ? timeoutMs : connectTimeoutMs;
      this.fail(new DataPortError(`no answer from ${host}:${port} in ${waitedMs} ms`));
    });
  }

  /** @throws DataPortError if the connection fails */
  static async open(address: WireAddress): Promise<WireConnection> {
    const connection = new WireConnection(address);
    const connected = deferred<void>();
    const isPlain = address.node === undefined && address.tls === undefined;
    connection.socket.once(isPlain ? 'connect' : 'secureConnect', () => connected.resolve());
    const failed = await Promise.race([connected.promise, connection.closed]);
    if (failed !== undefined) throw failed;
    connection.isOpen = true;
    connection.socket.setTimeout(address.timeoutMs);
    return connection;
  }

  /**
   * Opens a connection, logs in unless a certificate of this side takes the place of an account, and selects the bucket.
   * @throws StatusError noBucket or noAccess when the bucket cannot be selected
   * @throws DataPortError without a connection
   */
  static async openOnBucket(address: WireAddress, session: BucketSession): Promise<WireConnection> {
    const connection = await WireConnection.open(address);
    try {
      await connection.hello(session.features);
      const hasCertificate = address.node !== undefined || address.tls?.clientCertificate !== undefined;
      if (!hasCertificate) await connection.authenticate(session.account);
      const status = await connection.selectBucket(session.bucket);
      if (status !== Status.success) throw new StatusError(SelectBucket.opcode, status);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  get isClosed(): boolean {
    return this.reason !== null;
  }

  get inFlight(): number {
    return this.unanswered.size;
  }

  /** Sends HELLO; resolves with the granted features. */
  async hello(features: readonly number[]): Promise<ReadonlySet<number>> {
    const value = Buffer.alloc(features.length * 2);
    for (const [index, code] of features.entries()) value.writeUInt16BE(code, index * 2);
    const reply = await this.expect({ opcode: Hello.opcode, key: agent, value });
    const granted = new Set<number>();
    for (let offset = 0; offset + 1 < reply.value.length; offset += 2)
      granted.add(reply.value.readUInt16BE(offset));
    return granted;
  }

  async authenticate(account: WireAccount): Promise<void> {
    const { username, password } = account;
    if (account.scram) {
      await logInByScram(this, account);
      return;
    }
    const value = Buffer.from(`\0${username}\0${password}`);
    await this.expect({ opcode: SaslAuth.opcode, key: Buffer.from('PLAIN'), value });
  }

  /** Resolves with the status: the node may not have created a new bucket yet. */
  async selectBucket(name: string): Promise<number> {
    return (await this.request({ opcode: SelectBucket.opcode, key: Buffer.from(name) })).status;
  }

  /** Like `request`, but rejects with a StatusError for any status other than success. */
  async expect(request: RequestParts): Promise<WireReply> {
    return successOf(request, await this.request(request));
  }

  /** @throws DataPortError when the connection ends first */
  request(request: RequestParts): Promise<WireReply> {
    const reply = deferred<WireReply>();
    this.send(request, (frame) => {
      if (frame === null) reply.reject(this.reason as Error);
      else reply.resolve(replyOf(frame));
      return true;
    });
    return reply.promise;
  }

  /** Sends a request. `receive` gets its replies in order and must not throw. The buffers of the request must not change before that. */
  send(request: RequestParts, receive: ReceiveReply): void {
    if (this.reason !== null) receive(null);
    else if (this.unanswered.size < inFlightMax && this.waiting.length === 0) this.sendNow(request, receive);
    else this.waiting.push({ request, receive });
  }

  private sendNow(request: RequestParts, receive: ReceiveReply): void {
    const opaque = this.nextOpaque();
    this.unanswered.set(opaque, receive);
    this.write(request, opaque);
  }

  /** Sends a frame without a reply, such as a response to the server. */
  sendUnanswered(message: RequestParts): void {
    if (this.reason === null) this.write(message, message.opaque ?? 0);
  }

  /** Delivers no further frames until `resume`. */
  pause(): void {
    this.isPaused = true;
    this.socket.pause();
  }

  /** Delivers frames again, but not within this call: the caller may resume several connections, and a frame of the first may make it pause all of them. */
  resume(): void {
    this.isPaused = false;
    if (this.isResumeDue) return;
    this.isResumeDue = true;
    process.nextTick(() => this.readOn());
  }

  private readOn(): void {
    this.isResumeDue = false;
    if (!this.isPaused) this.deliverAll();
    if (this.isPaused) return;
    this.socket.resume();
    // The socket restarts its time limit only when bytes arrive, and a peer that is down sends none.
    if (this.isLimitDue) this.socket.setTimeout(this.socket.timeout ?? 0);
    this.isLimitDue = false;
  }

  close(reason = new DataPortError('the connection was closed')): void {
    this.fail(reason);
  }

  private nextOpaque(): number {
    do this.lastOpaque = (this.lastOpaque + 1) >>> 0;
    while (this.unanswered.has(this.lastOpaque));
    return this.lastOpaque;
  }

  private write(message: RequestParts, opaque: number): void {
    putRequest(this.output, message, opaque);
    if (this.output.end >= writtenAtOnceBytes) this.flush();
    if (this.isFlushDue) return;
    this.isFlushDue = true;
    // nextTick runs after the input of one socket, setImmediate after that of all sockets: then requests that several clients caused share
    // one write and one wake-up of the server. With one request in flight setImmediate would only add work.
    if (this.unanswered.size > 1) setImmediate(() => this.flush());
    else process.nextTick(() => this.flush());
  }

  /** Requests of one turn of the event loop are sent in one write. */
  private flush(): void {
    const { output } = this;
    this.isFlushDue = false;
    if (output.end === 0 || this.reason !== null) return;
    writeOutput(output, this.socket);
  }

  private receive(buffer: Buffer, bytes: number): void {
    this.reader.feed(buffer, 0, bytes);
    this.deliverAll();
  }

  private deliverAll(): void {
    if (this.isDelivering) return; // the caller is the receiver of a frame
    const { reader, frame } = this;
    this.isDelivering = true;
    let result: FrameResult = FrameResult.whole;
    while (this.reason === null && !this.isPaused && result === FrameResult.whole) {
      result = reader.next(frame);
      if (result === FrameResult.whole) this.deliver(frame);
    }
    this.isDelivering = false;
    if (result < FrameResult.needMore)
      this.fail(new DataPortError('the data port sent bytes that are not a frame'));
    reader.copyUnread();
    if (this.reason === null) this.onDrained?.();
  }

  private deliver(frame: Frame): void {
    if (frame.magic !== Magic.response && frame.magic !== Magic.altResponse) {
      this.onMessage?.(frame);
      return;
    }
    const { opaque } = frame;
    const receive = this.unanswered.get(opaque);
    if (!receive?.(frame)) return;
    this.unanswered.delete(opaque);
    if (this.waiting.length > 0) this.sendWaiting();
  }

  private sendWaiting(): void {
    while (this.reason === null && this.unanswered.size < inFlightMax) {
      const next = this.waiting.shift();
      if (next === undefined) return;
      this.sendNow(next.request, next.receive);
    }
  }

  private fail(reason: DataPortError): void {
    if (this.reason !== null) return;
    this.reason = reason;
    this.socket.destroy();
    const unanswered = [...this.unanswered.values(), ...this.waiting.map(({ receive }) => receive)];
    this.unanswered.clear();
    this.waiting.length = 0;
    for (const receive of unanswered) receive(null);
    this.end.resolve(reason);
  }
}

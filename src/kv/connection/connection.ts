// One client connection: splits the received bytes into frames, runs them through the dispatcher, sends the replies to one
// chunk in one write, and stops reading while the client does not accept its replies or a request must wait.
import { emptyFrame, type Frame, FrameResult, frameBytesMax } from '#wire/frame.ts';
import { FrameReader } from '#wire/frame-reader.ts';
import type { Output } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import type { TrafficFigures } from '../activity.ts';
import { writeHeldReply } from '../dispatch/delayed-reply.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { AfterFrame } from '../dispatch/request.ts';
import type { Directory, UserEntry } from '../served/directory.ts';
import { HeldReply, type ReplyHolder, type ReplyOrder } from '../served/held-reply.ts';
import type { Answerable, Client, Streamer } from '../session/client.ts';
import { Session } from '../session/session.ts';
import type { TurnClock } from '../turn-clock.ts';
import { connectionLimits } from './connection-limits.ts';
import { FrameRoom } from './frame-room.ts';
import type { InputBudget, RoomWaiter } from './input-budget.ts';
import type { Transport } from './transport.ts';

/** Services of the thread that runs the connection. */
export interface ConnectionHost {
  readonly input: InputBudget;
  readonly dispatcher: Dispatcher;
  readonly output: Output;
  readonly traffic: TrafficFigures;
  readonly turns: TurnClock;
  /** Updates the thread's current time, once per chunk. */
  tick(): void;
  nowMs(): number;
  /** Schedules a call of `resume`. */
  wake(connection: Connection): void;
  discard(connection: Connection): void;
}

/** Minimal cost of a request and of a read from a socket, in bytes of work. What is read is copied, into new memory if it is large. */
const requestWork = 128;
const readWork = 1024;

/** The frame that is being run; shared by all connections, because only one runs at a time. */
const frame = emptyFrame();

export class Connection implements Client, ReplyHolder, RoomWaiter {
  readonly session = new Session();
  readonly peer: string;
  streamer: Streamer | null = null;
  heldCount = 0;
  heavyCount = 0;
  /** Held replies that later requests must not overtake. */
  private orderedCount = 0;
  private readonly host: ConnectionHost;
  private readonly transport: Transport;
  private readonly reader = new FrameReader(connectionLimits.unauthenticatedFrameBytesMax);
  /** Resolved replies that `resume` will send. */
  private readonly ready: HeldReply[] = [];
  /** The reply that the frame just run has held. */
  private held: HeldReply | null = null;
  readonly openedMs: number;
  /** Since when the client has time to log in: it was opened, or began to log in again. */
  private unauthenticatedSinceMs: number;
  /** A frame was put back into the reader: it runs once held replies are sent. */
  private isWaiting = false;
  /** There is no memory for the frame that is arriving. */
  private isWaitingForRoom = false;
  private readonly room: FrameRoom;
  /** When the incomplete frame began to arrive or to wait; negative if there is none. */
  private partialFrameSinceMs = -1;
  /** The time of the turn is over; the connection continues in a later one. */
  private isPausing = false;
  /** When the connection stopped reading, or bytes were last accepted since; negative while it reads. */
  private stalledAtMs = -1;
  private writtenBytes = 0;
  /** Written bytes that the operating system had accepted at the last sweep. */
  private acceptedBytes = 0;
  /** Bytes arrived since the last sweep. The sweep records the time, so that requests need not read the clock. */
  private isUsed = false;
  private usedAtMs: number;
  /** When the client last sent or accepted bytes, or when the connection last had no reason to wait for the client; recorded by the sweep. */
  private activeAtMs: number;
  private closingAtMs = -1;
  private isClosed = false;

  constructor(host: ConnectionHost, transport: Transport, peer: string) {
    this.host = host;
    this.transport = transport;
    this.room = new FrameRoom(host.input, this);
    this.peer = peer;
    this.openedMs = host.nowMs();
    this.unauthenticatedSinceMs = this.openedMs;
    this.usedAtMs = this.activeAtMs = this.openedMs;
  }

  get isGone(): boolean {
    return this.isClosed;
  }

  detachFrame(received: Frame): Buffer {
    return this.reader.detach(received);
  }

  get isOrdered(): boolean {
    return this.orderedCount > 0;
  }

  /** Processes received bytes; the caller may then reuse their memory. Returns whether to continue reading. */
  received(chunk: Buffer, start: number, end: number): boolean {
    // Closing connections are still read, to detect that the client closes its side.
    if (this.isClosed || this.closingAtMs >= 0) return true;
    this.isUsed = true;
    this.host.traffic.readBytes += end - start;
    this.host.tick();
    this.host.turns.countWork(readWork + end - start);
    this.reader.feed(chunk, start, end);
    if (this.isBlocked) this.reader.copyUnread();
    else this.work();
    return !this.isBlocked;
  }

  /** The operating system has accepted all sent bytes. */
  drained(): void {
    this.streamer?.drained();
    if (this.stalledAtMs < 0) return;
    this.stalledAtMs = -1;
    // While the connection did not read, no frame could arrive.
    this.partialFrameSinceMs = -1;
    this.host.tick();
    if (this.ready.length > 0) this.resume();
    else this.proceed();
  }

  /** Sends the resolved replies, then runs the requests that waited for them. */
  resume(): void {
    if (this.isClosed) return;
    this.isPausing = false;
    this.finishReady();
    this.isWaiting = false;
    this.isWaitingForRoom = false;
    this.proceed();
  }

  /** Sends resolved replies while the turn has time and the client accepts them: some run their request again. */
  private finishReady(): void {
    const { ready } = this;
    const { turns, dispatcher } = this.host;
    let sent = 0;
    while (sent < ready.length && !turns.isOver && this.stalledAtMs < 0) {
      const heldReply = ready[sent++] as HeldReply;
      dispatcher.request.workBytes = 0;
      this.finish(heldReply);
      turns.countWork(
        requestWork + heldReply.frame.length + heldReply.bytes.length + dispatcher.request.workBytes,
      );
    }
    ready.splice(0, sent);
    // A stalled connection continues in `drained`.
    if (ready.length > 0 && this.stalledAtMs < 0) this.continueLater();
  }

  private continueLater(): void {
    this.isPausing = true;
    this.host.wake(this);
  }

  holdReply(request: Answerable, order: ReplyOrder, bytes: Buffer = Buffer.alloc(0)): HeldReply {
    const { startedMs, command } = request;
    const { opcode, opaque } = request.frame;
    const quiet = command.quiet === 'success';
    const heldReply = new HeldReply(this, { opcode, opaque, order, quiet, startedMs }, bytes);
    this.heldCount++;
    if (order === 'ordered') this.orderedCount++;
    this.held = heldReply;
    return heldReply;
  }

  replyResolved(heldReply: HeldReply): void {
    if (this.isClosed) return;
    if (this.stalledAtMs >= 0) heldReply.releaseFetched();
    this.ready.push(heldReply);
    if (this.ready.length === 1) this.host.wake(this);
  }

  /** Authenticates the client by its certificate, before its first frame. */
  authenticateByCertificate(user: UserEntry, directory: Directory): void {
    this.session.authenticateByCertificate(user, directory);
    this.setAuthenticated(true);
  }

  setAuthenticated(isAuthenticated: boolean): void {
    const wasAuthenticated = this.reader.bytesMax === frameBytesMax;
    if (wasAuthenticated && !isAuthenticated) this.unauthenticatedSinceMs = this.host.nowMs();
    this.reader.bytesMax = isAuthenticated ? frameBytesMax : connectionLimits.unauthenticatedFrameBytesMax;
    if (isAuthenticated) this.transport.markAuthenticated();
  }

  get unsentBytes(): number {
    return this.transport.unsentBytes;
  }

  send(write: () => void): void {
    if (this.isClosed || this.closingAtMs >= 0) return;
    write();
    this.flush();
  }

  /** Sends a message that is not a reply. Clients that do not accept their replies do not get it. */
  push(bytes: Buffer): void {
    if (this.isClosed || this.closingAtMs >= 0 || this.stalledAtMs >= 0) return;
    this.host.traffic.writtenBytes += bytes.length;
    this.writtenBytes += bytes.length;
    this.transport.write(bytes, bytes.length);
    this.noteStall();
  }

  /** Closes the connection if one of its time limits has passed, or after `idleMs` without requests (0: never). */
  sweep(nowMs: number, idleMs = 0): void {
    const { authenticationMs, frameMs, lingerMs, stalledMs } = connectionLimits;
    const isLingering = this.closingAtMs >= 0 && nowMs - this.closingAtMs > lingerMs;
    const hasAccepted = this.hasProgressed();
    const isReading = hasAccepted && this.transport.unsentBytes > 0;
    if (this.stalledAtMs >= 0 && isReading) this.stalledAtMs = nowMs;
    const isStalled = this.stalledAtMs >= 0 && nowMs - this.stalledAtMs > stalledMs;
    const isUnauthenticated =
      this.session.user === null && nowMs - this.unauthenticatedSinceMs > authenticationMs;
    const hasPartialFrame = this.partialFrameSinceMs >= 0 && this.stalledAtMs < 0;
    const isSlow = hasPartialFrame && nowMs - this.partialFrameSinceMs > frameMs;
    const isBlocking = this.isPassive(nowMs, hasAccepted) && this.room.isWanted;
    if (isLingering || isStalled || isUnauthenticated || isSlow || isBlocking) this.transport.destroy();
    else if (this.isIdle(nowMs, idleMs, isReading)) this.close();
  }

  /** Whether the client has neither sent nor accepted bytes for some time, although the connection waits for it. */
  private isPassive(nowMs: number, hasAccepted: boolean): boolean {
    const waitsForClient = this.stalledAtMs >= 0 || (this.room.isReserved && !this.isBlocked);
    if (!waitsForClient || this.isUsed || hasAccepted) this.activeAtMs = nowMs;
    return nowMs - this.activeAtMs > connectionLimits.passiveMs;
  }

  /** Whether the client has accepted bytes since the last call. */
  private hasProgressed(): boolean {
    const before = this.acceptedBytes;
    this.acceptedBytes = this.writtenBytes - this.transport.unsentBytes;
    return this.acceptedBytes > before;
  }

  /** A client with a held reply or a change stream, or that is reading a reply, is not idle. */
  private isIdle(nowMs: number, idleMs: number, isReading: boolean): boolean {
    const isWaiting = this.heldCount > 0 || this.isWaiting || this.streamer !== null;
    if (this.isUsed || isWaiting || isReading) this.usedAtMs = nowMs;
    this.isUsed = false;
    return idleMs > 0 && nowMs - this.usedAtMs >= idleMs;
  }

  close(): void {
    if (this.closingAtMs >= 0) return;
    this.closingAtMs = this.host.nowMs();
    this.flush();
    this.transport.end();
  }

  destroy(): void {
    this.transport.destroy();
  }

  /** The socket is closed. */
  gone(): void {
    this.isClosed = true;
    this.room.end();
    this.streamer?.gone();
    this.host.discard(this);
  }

  /** Sends a resolved reply. It counts as held until now, so that later requests could not overtake it. */
  private finish(heldReply: HeldReply): void {
    this.heldCount--;
    if (heldReply.order === 'ordered') this.orderedCount--;
    this.held = null;
    if (this.closingAtMs < 0) this.answer(heldReply);
    this.room.heldRan(heldReply, this.held);
  }

  private answer(heldReply: HeldReply): void {
    const { dispatcher, output } = this.host;
    const runsAgain = heldReply.frame.length > 0 && heldReply.status === Status.success;
    const isFine = runsAgain
      ? dispatcher.rerun(this, heldReply) !== AfterFrame.close
      : writeHeldReply(this, dispatcher.request, heldReply);
    if (!isFine) this.close();
    else if (output.bytes > connectionLimits.flushBytes) this.flush();
  }

  private get isBlocked(): boolean {
    return this.isWaiting || this.isPausing || this.isWaitingForRoom || this.stalledAtMs >= 0;
  }

  private proceed(): void {
    if (this.closingAtMs >= 0 || this.isBlocked) this.flush();
    else this.work();
    if (!this.isBlocked && this.closingAtMs < 0) this.transport.resume();
  }

  /** Runs the received frames until all are run or one must wait. */
  private work(): void {
    const { reader } = this;
    const { dispatcher, output, turns } = this.host;
    const { request } = dispatcher;
    let hasRun = false;
    while (!this.isBlocked) {
      if (turns.isOver) {
        this.continueLater();
        break;
      }
      const result = reader.next(frame);
      if (result === FrameResult.needMore) {
        if (frame.needed > connectionLimits.largeFrameBytes) this.reserveRoom(frame.needed);
        break;
      }
      if (result !== FrameResult.whole) {
        dispatcher.refuse(this, frame);
        this.close();
        break;
      }
      hasRun = true;
      const before = output.bytes;
      request.workBytes = 0;
      this.held = null;
      const verdict = dispatcher.run(this, frame);
      turns.countWork(requestWork + frame.needed + output.bytes - before + request.workBytes);
      if (verdict !== AfterFrame.wait) this.room.arrivedRan(this.held);
      if (verdict === AfterFrame.wait) {
        reader.unread(frame);
        this.isWaiting = true;
      } else if (verdict === AfterFrame.close) {
        this.close();
        break;
      }
      if (output.bytes > connectionLimits.flushBytes) this.flush();
    }
    reader.copyUnread();
    this.notePartialFrame(hasRun);
    this.flush();
    if (this.isBlocked) this.transport.pause();
  }

  roomFreed(): void {
    this.host.wake(this);
  }

  /** Reserves memory for the frame that is arriving, or stops reading until memory is released. */
  private reserveRoom(bytes: number): void {
    if (this.room.isReserved) return;
    if (this.room.reserve(this.session.user?.spec.name ?? '', bytes)) {
      this.reader.expect(bytes);
      this.partialFrameSinceMs = -1;
    } else this.isWaitingForRoom = true;
  }

  /** The time starts with each frame, and continues while the connection pauses within one. */
  private notePartialFrame(hasRun: boolean): void {
    if (hasRun || this.reader.unreadBytes === 0 || this.isWaiting) this.partialFrameSinceMs = -1;
    if (this.reader.unreadBytes === 0 || this.isWaiting || this.isPausing) return;
    if (this.partialFrameSinceMs < 0) this.partialFrameSinceMs = this.host.nowMs();
  }

  private flush(): void {
    const { output, traffic } = this.host;
    if (output.end === 0) return;
    traffic.writtenBytes += output.bytes;
    this.writtenBytes += output.bytes;
    this.session.user?.meter?.sent(output.bytes);
    const isReusable = this.isClosed || this.write(output);
    output.clear(!isReusable);
    this.noteStall();
  }

  private noteStall(): void {
    if (this.stalledAtMs >= 0 || this.transport.unsentBytes <= connectionLimits.unsentBytes) return;
    this.stalledAtMs = this.host.nowMs();
    for (const heldReply of this.ready) heldReply.releaseFetched();
  }

  /** Returns whether the buffer can be reused. Attachments do not change. */
  private write({ buffer, end, attachments }: Output): boolean {
    let isReusable = true;
    let from = 0;
    for (const { at, bytes } of attachments) {
      if (at > from) isReusable = this.transport.write(buffer.subarray(from, at), at - from) && isReusable;
      this.transport.write(bytes, bytes.length);
      from = at;
    }
    if (end === from) return isReusable;
    const rest = from === 0 ? buffer : buffer.subarray(from);
    return this.transport.write(rest, end - from) && isReusable;
  }
}

// One client: finds the frames in what arrives, has them run, sends the replies of one arrival in one write, and stops
// reading while the client does not take its replies or must wait for one.
import { emptyFrame, type Frame, FrameResult, frameBytesMax } from '#wire/frame.ts';
import { FrameReader } from '#wire/frame-reader.ts';
import type { Output } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import type { TrafficFigures } from '../activity.ts';
import { type Dispatcher, Verdict } from '../dispatch/dispatcher.ts';
import { replyHeld } from '../dispatch/reply-held.ts';
import type { Directory, UserEntry } from '../served/directory.ts';
import { HeldReply, type ReplyHolder } from '../served/held-reply.ts';
import type { Answerable, Client, Streamer } from '../session/client.ts';
import { Session } from '../session/session.ts';
import type { InputBudget, Waiting } from './input-budget.ts';
import type { Transport } from './transport.ts';

export const connectionLimits = {
  /** A frame of a client who has not said who it is. */
  strangerFrameBytes: 64 * 1024,
  /** Frames above this size need room for all of them before they are read. */
  largeFrameBytes: 64 * 1024,
  /** For all large frames that are arriving or being worked on. */
  input: { perUser: 128 * 1024 * 1024, total: 512 * 1024 * 1024 },
  /** For one frame to arrive, and to wait for room. */
  frameMs: 120_000,
  /** Replies are sent once they come to this. */
  flushBytes: 256 * 1024,
  /** Above this many unsent bytes a client is not read from. */
  unsentBytes: 4 * 1024 * 1024,
  /** To say who it is. */
  authenticationMs: 30_000,
  /** To take its last replies once it is hung up on, and to take anything at all while it is not read from. */
  /** Its requests run for so long at a time; then other clients have their turn. */
  turnMs: 4,
  /** Looked at whenever requests and replies come to this many bytes, or as much work: reading the clock costs too. */
  workBytes: 64 * 1024,
  lingerMs: 5_000,
  stalledMs: 120_000,
} as const;

/** What a connection needs of the thread it lives on. */
export interface ConnectionHost {
  readonly input: InputBudget;
  readonly dispatcher: Dispatcher;
  readonly output: Output;
  readonly traffic: TrafficFigures;
  /** Reads the clock for what is done with the bytes that arrived. */
  tick(): void;
  nowMs(): number;
  /** Has `resume` called soon. */
  wake(connection: Connection): void;
  forget(connection: Connection): void;
}

/** What a request costs at least, in bytes of work. */
const requestWork = 128;

/** One frame in hand at a time, whatever the connection. */
const frame = emptyFrame();

export class Connection implements Client, ReplyHolder, Waiting {
  readonly session = new Session();
  readonly peer: string;
  streamer: Streamer | null = null;
  heldCount = 0;
  heavyCount = 0;
  private orderedCount = 0;
  private readonly host: ConnectionHost;
  private readonly transport: Transport;
  private readonly reader = new FrameReader(connectionLimits.strangerFrameBytes);
  private readonly ready: HeldReply[] = [];
  readonly openedMs: number;
  private waiting = false;
  /** There is no room for the frame that is arriving. */
  private isStarved = false;
  /** Room that was taken for it, and for frames that are worked on elsewhere; by whom. */
  private roomBytes = 0;
  private workedBytes = 0;
  private roomOwner = '';
  /** When the frame in part began to arrive, or to wait; below zero when there is none. */
  private partSinceMs = -1;
  /** Its turn is over; the next one begins by itself. */
  private isPausing = false;
  private stalledAtMs = -1;
  /** Something arrived since the last sweep; the sweep then notes the time, so that no request has to. */
  private isUsed = false;
  private usedAtMs: number;
  private closingAtMs = -1;
  private closed = false;

  constructor(host: ConnectionHost, transport: Transport, peer: string) {
    this.host = host;
    this.transport = transport;
    this.peer = peer;
    this.openedMs = host.nowMs();
    this.usedAtMs = this.openedMs;
  }

  get isGone(): boolean {
    return this.closed;
  }

  takeFrame(given: Frame): Buffer {
    return this.reader.take(given);
  }

  get isOrdered(): boolean {
    return this.orderedCount > 0;
  }

  /** Takes bytes that arrived. The memory may be used again afterwards. Answers whether to go on reading. */
  received(chunk: Buffer, start: number, end: number): boolean {
    // Who is hung up on is still read from, to notice when it closes its side.
    if (this.closed || this.closingAtMs >= 0) return true;
    this.isUsed = true;
    this.host.traffic.readBytes += end - start;
    this.host.tick();
    this.reader.feed(chunk, start, end);
    if (this.isBlocked) this.reader.keep();
    else this.work();
    return !this.isBlocked;
  }

  /** All sent bytes are taken. */
  drained(): void {
    this.streamer?.drained();
    if (this.stalledAtMs < 0) return;
    this.stalledAtMs = -1;
    this.host.tick();
    this.proceed();
  }

  /** Sends the held replies that are settled, and goes on with requests that had to wait for them. */
  resume(): void {
    if (this.closed) return;
    for (const held of this.ready.splice(0)) this.finish(held);
    this.waiting = false;
    this.isPausing = false;
    this.isStarved = false;
    this.proceed();
  }

  later({ frame, command }: Answerable, ordered: boolean, bytes: Buffer = Buffer.alloc(0)): HeldReply {
    const { opcode, opaque } = frame;
    const quiet = command.quiet === 'success';
    const held = new HeldReply(this, { opcode, opaque, ordered, quiet }, bytes);
    this.heldCount++;
    if (ordered) this.orderedCount++;
    return held;
  }

  settled(held: HeldReply): void {
    if (this.closed) return;
    this.ready.push(held);
    if (this.ready.length === 1) this.host.wake(this);
  }

  /** The client has shown who it is before its first frame. */
  certify(user: UserEntry, directory: Directory): void {
    this.session.certify(user, directory);
    this.trust(true);
  }

  trust(isTrusted: boolean): void {
    this.reader.bytesMax = isTrusted ? frameBytesMax : connectionLimits.strangerFrameBytes;
    if (isTrusted) this.transport.known();
  }

  get unsentBytes(): number {
    return this.transport.unsentBytes;
  }

  send(write: () => void): void {
    if (this.closed || this.closingAtMs >= 0) return;
    write();
    this.flush();
  }

  /** Sends bytes that answer nothing. */
  push(bytes: Buffer): void {
    if (this.closed || this.closingAtMs >= 0 || this.stalledAtMs >= 0) return;
    this.host.traffic.writtenBytes += bytes.length;
    this.transport.write(bytes, bytes.length);
  }

  /** Hangs up on clients that keep us waiting, and on those that ask for nothing for so long (0: never). */
  sweep(nowMs: number, idleMs = 0): void {
    const { authenticationMs, frameMs, lingerMs, stalledMs } = connectionLimits;
    const isLingering = this.closingAtMs >= 0 && nowMs - this.closingAtMs > lingerMs;
    const isStalled = this.stalledAtMs >= 0 && nowMs - this.stalledAtMs > stalledMs;
    const isStranger = this.session.user === null && nowMs - this.openedMs > authenticationMs;
    const isSlow = this.partSinceMs >= 0 && nowMs - this.partSinceMs > frameMs;
    if (isLingering || isStalled || isStranger || isSlow) this.transport.destroy();
    else if (this.isIdle(nowMs, idleMs)) this.hangUp();
  }

  /** Who waits for a reply, or has a stream, is not idle. */
  private isIdle(nowMs: number, idleMs: number): boolean {
    if (this.isUsed || this.heldCount > 0 || this.waiting || this.streamer !== null) this.usedAtMs = nowMs;
    this.isUsed = false;
    return idleMs > 0 && nowMs - this.usedAtMs >= idleMs;
  }

  hangUp(): void {
    if (this.closingAtMs >= 0) return;
    this.closingAtMs = this.host.nowMs();
    this.flush();
    this.transport.end();
  }

  destroy(): void {
    this.transport.destroy();
  }

  /** The socket is gone. */
  gone(): void {
    this.closed = true;
    this.host.input.forget(this);
    this.giveBack('roomBytes');
    this.giveBack('workedBytes');
    this.streamer?.gone();
    this.host.forget(this);
  }

  /** Until then it counts as held: what arrives meanwhile may not get ahead of it. */
  private finish(held: HeldReply): void {
    const { dispatcher, output } = this.host;
    this.heldCount--;
    if (held.heavy !== null && this.workedBytes > 0) this.giveBack('workedBytes');
    if (held.ordered) this.orderedCount--;
    if (this.closingAtMs >= 0) return;
    const runsAgain = held.frame.length > 0 && held.status === Status.success;
    const isFine = runsAgain
      ? dispatcher.runAgain(this, held) !== Verdict.hangUp
      : replyHeld(this, output, held);
    if (!isFine) this.hangUp();
    else if (output.end > connectionLimits.flushBytes) this.flush();
  }

  private get isBlocked(): boolean {
    return this.waiting || this.isPausing || this.isStarved || this.stalledAtMs >= 0;
  }

  private proceed(): void {
    if (this.closingAtMs >= 0 || this.isBlocked) this.flush();
    else this.work();
    if (!this.isBlocked && this.closingAtMs < 0) this.transport.resume();
  }

  /** Runs the frames in hand until they are used up or must wait. */
  private work(): void {
    const { reader } = this;
    const { dispatcher, output } = this.host;
    const { request } = dispatcher;
    let untilMs = -1;
    let workBytes = 0;
    while (!this.isBlocked) {
      if (workBytes > connectionLimits.workBytes) {
        workBytes = 0;
        const nowMs = this.host.nowMs();
        if (untilMs < 0) untilMs = nowMs + connectionLimits.turnMs;
        else if (nowMs >= untilMs) {
          this.isPausing = true;
          this.host.wake(this);
          break;
        }
      }
      const result = reader.next(frame);
      if (result === FrameResult.needMore) {
        if (frame.needed > connectionLimits.largeFrameBytes) this.makeRoom(frame.needed);
        break;
      }
      if (result !== FrameResult.whole) {
        dispatcher.refuse(this, frame);
        this.hangUp();
        break;
      }
      const before = output.end;
      request.workBytes = 0;
      const heavyBefore = this.heavyCount;
      const verdict = dispatcher.run(this, frame);
      workBytes += requestWork + frame.needed + output.end - before + request.workBytes;
      if (this.roomBytes > 0 && verdict !== Verdict.wait) this.leaveRoom(heavyBefore);
      if (verdict === Verdict.wait) {
        reader.unread(frame);
        this.waiting = true;
      } else if (verdict === Verdict.hangUp) {
        this.hangUp();
        break;
      }
      if (output.end > connectionLimits.flushBytes) this.flush();
    }
    reader.keep();
    this.notePart();
    this.flush();
    if (this.isBlocked) this.transport.pause();
  }

  roomCame(): void {
    this.host.wake(this);
  }

  /** Has the frame that is arriving wait, unread, until there is room for all of it. */
  private makeRoom(bytes: number): void {
    if (this.roomBytes > 0) return;
    const user = this.session.user?.spec.name ?? '';
    if (this.host.input.take(user, bytes, this)) {
      this.roomBytes = bytes;
      this.roomOwner = user;
      this.partSinceMs = -1;
    } else this.isStarved = true;
  }

  /** The large frame has been run; where it is worked on elsewhere its memory stays. */
  private leaveRoom(heavyBefore: number): void {
    if (this.heavyCount <= heavyBefore) this.giveBack('roomBytes');
    else {
      this.workedBytes += this.roomBytes;
      this.roomBytes = 0;
    }
  }

  private giveBack(of: 'roomBytes' | 'workedBytes'): void {
    const bytes = this[of];
    this[of] = 0;
    if (bytes > 0) this.host.input.give(this.roomOwner, bytes);
  }

  private notePart(): void {
    if (this.reader.keptBytes === 0 || this.waiting || this.isPausing) this.partSinceMs = -1;
    else if (this.partSinceMs < 0) this.partSinceMs = this.host.nowMs();
  }

  private flush(): void {
    const { output, traffic } = this.host;
    if (output.end === 0) return;
    traffic.writtenBytes += output.end;
    const taken = this.closed || this.transport.write(output.buffer, output.end);
    output.clear(!taken);
    if (!taken && this.transport.unsentBytes > connectionLimits.unsentBytes && this.stalledAtMs < 0) {
      this.stalledAtMs = this.host.nowMs();
    }
  }
}

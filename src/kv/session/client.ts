// A client as commands and change streams use it. `Connection` implements it.
import type { Command } from '#wire/define-command.ts';
import type { Frame } from '#wire/frame.ts';
import type { HeldReply, ReplyOrder } from '../served/held-reply.ts';
import type { Session } from './session.ts';

export interface Client {
  readonly session: Session;
  /** `address:port`. */
  readonly peer: string;
  readonly openedMs: number;
  streamer: Streamer | null;
  /** Number of held replies. */
  readonly heldCount: number;
  /** True if a held reply is ordered: no other reply may overtake it. */
  readonly isOrdered: boolean;
  /** Bytes that the operating system has not accepted yet. */
  readonly unsentBytes: number;
  /** Applies the frame limit of authenticated or of unauthenticated clients. */
  setAuthenticated(isAuthenticated: boolean): void;
  /** Number of the client's requests whose heavy work is not finished. */
  heavyCount: number;
  /** The socket is closed: no reply can be sent. */
  readonly isGone: boolean;
  /** The bytes of the current frame in memory that the caller owns (see `FrameReader.take`). */
  detachFrame(frame: Frame): Buffer;
  /** Registers a reply that is sent later. No reply overtakes an ordered one, even with unordered execution. */
  holdReply(request: Answerable, order: ReplyOrder, bytes?: Buffer): HeldReply;
  /** Sends what `write` appends to the output. Must not be called while a request is being run. */
  send(write: () => void): void;
  /** Sends the pending output, then closes the connection. */
  close(): void;
  /** Closes the connection at once. */
  destroy(): void;
}

/** The parts of a request that are needed to reply later. */
export interface Answerable {
  readonly frame: Frame;
  readonly command: Command;
  /** Negative if the reply has no duration. */
  readonly startedMs: number;
}

/** Sends messages to a client that are not replies: a change stream producer. */
export interface Streamer {
  /** The client responded to a message. */
  answered(): void;
  /** The operating system has accepted all sent bytes. */
  drained(): void;
  /** The connection is closed. */
  gone(): void;
}

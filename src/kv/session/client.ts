// A client as commands and change streams see it; the connection is what stands behind it.
import type { Command } from '#wire/define-command.ts';
import type { Frame } from '#wire/frame.ts';
import type { HeldReply } from '../served/held-reply.ts';
import type { Session } from './session.ts';

export interface Client {
  readonly session: Session;
  /** `address:port`. */
  readonly peer: string;
  readonly openedMs: number;
  streamer: Streamer | null;
  /** Replies that are held for it. */
  readonly heldCount: number;
  /** A held reply forbids that any other overtakes it. */
  readonly isOrdered: boolean;
  /** Bytes that the operating system did not take yet. */
  readonly unsentBytes: number;
  /** From now on it may send large frames, or no longer. */
  trust(isTrusted: boolean): void;
  /** Heavy work of its requests that is under way. */
  heavyCount: number;
  /** It is closed: nobody takes a reply. */
  readonly isGone: boolean;
  /** The frame in hand in memory of its own: the connection's where that holds nothing else, else a copy. */
  takeFrame(frame: Frame): Buffer;
  /** Promises a reply to the request. An ordered one is not overtaken even where the client allows that. */
  later(request: Answerable, ordered: boolean, bytes?: Buffer): HeldReply;
  /** Sends what `write` adds to the output. Only in a stretch of its own: no request may be in hand. */
  send(write: () => void): void;
  /** Sends what is written and closes. */
  hangUp(): void;
  destroy(): void;
}

/** What must be known of a request to answer it after its stretch. */
export interface Answerable {
  readonly frame: Frame;
  readonly command: Command;
}

/** What sends by itself to a client, beside the replies. */
export interface Streamer {
  /** The client answered a message. */
  answered(): void;
  /** All sent bytes are taken. */
  drained(): void;
  /** The client is gone. */
  gone(): void;
}

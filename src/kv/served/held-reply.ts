// A reply that cannot be sent yet, because its request waits for a durable write, for the disk or for heavy work.
// `dispatch/delayed-reply.ts` describes the whole path.
import type { Attachment } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import type { FoundKey } from '../bucket/keys/random-search.ts';
import type { Documents, FetchedDocument } from '../data/documents.ts';
import type { HeavyAnswer } from '../heavy/jobs.ts';

const noBytes = Buffer.alloc(0);

/** Whether replies to later requests of the connection may be sent before a held reply. */
export type ReplyOrder = 'ordered' | 'unordered';

export interface ReplyHolder {
  /** The reply can be sent. */
  replyResolved(heldReply: HeldReply): void;
}

/** The first part of a reply with many entries. The request is run again for the others, so that it does not take all of its time in one turn. */
export interface PartialReply {
  /** Has room for the whole value. */
  readonly value: Buffer;
  valueEnd: number;
  /** Where the entries of the request begin that are not in the reply yet, counted from the start of its value. */
  nextEntry: number;
}

export class HeldReply {
  private readonly holder: ReplyHolder;
  readonly opcode: number;
  readonly opaque: number;
  readonly order: ReplyOrder;
  readonly quiet: boolean;
  /** Start of the request, for the server duration; negative if the reply has none. */
  readonly startedMs: number;
  /** The encoded reply in case of success, or empty; and what is sent with it from its own memory. */
  bytes: Buffer;
  attachments: readonly Attachment[] = [];
  /** The value of a successful reply that is not encoded yet. */
  value: Buffer = noBytes;
  /** The request's frame if it will be run again, else empty. */
  frame: Buffer = noBytes;
  /** Memory that the connection has reserved for the frame. */
  roomBytes = 0;
  /** The key that the command found in an earlier run. */
  found: FoundKey | null = null;
  /** What the command composed in earlier runs. */
  partial: PartialReply | null = null;
  /** The document that was fetched for the next run. */
  fetched: FetchedDocument | null = null;
  /** The bucket's documents, which fetched `fetched` and provide it to the next run. */
  documents: Documents | null = null;
  /** Memory had no room for the document that was fetched for the last run. */
  lacksRoom = false;
  /** The heavy work of the last run. */
  heavy: HeavyAnswer | null = null;
  /** When the frame began to wait for the disk, negative if it did not. */
  sinceMs = -1;
  /** Set by `resolve`. */
  status: Status | null = null;

  constructor(
    holder: ReplyHolder,
    head: { opcode: number; opaque: number; order: ReplyOrder; quiet: boolean; startedMs: number },
    bytes: Buffer,
  ) {
    this.holder = holder;
    this.opcode = head.opcode;
    this.opaque = head.opaque;
    this.order = head.order;
    this.quiet = head.quiet;
    this.startedMs = head.startedMs;
    this.bytes = bytes;
  }

  /** Sets the status of the reply; the connection sends it when it is resumed. */
  resolve(status: Status): void {
    this.status = status;
    this.holder.replyResolved(this);
  }

  /**
   * Releases the document, because the client accepts no replies at present: the next run finds it in memory, or reads it again. Where memory had
   * no room for it, the request gets a temporary failure.
   */
  releaseFetched(): void {
    const { fetched } = this;
    if (fetched === null || fetched.item === null) return;
    this.fetched = null;
    if (fetched.lacksRoom) this.status = Status.temporaryFailure;
  }
}

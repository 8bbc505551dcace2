// A reply that is written but may not leave yet: a durable write that is not settled, a wait for the disk.
import type { Status } from '#wire/status.ts';
import type { FoundKey } from '../bucket/random-search.ts';
import type { Documents, FetchedDocument } from '../data/documents.ts';
import type { HeavyAnswer } from '../heavy/jobs.ts';

const nothing = Buffer.alloc(0);

export interface ReplyHolder {
  /** The reply may leave. */
  settled(held: HeldReply): void;
}

export class HeldReply {
  private readonly holder: ReplyHolder;
  readonly opcode: number;
  readonly opaque: number;
  /** Later requests of the connection may not overtake it. */
  readonly ordered: boolean;
  readonly quiet: boolean;
  /** The reply in case of success. */
  bytes: Buffer;
  /** Of a success that was not written yet. */
  value: Buffer = nothing;
  /** The request itself when it is to be run again, else empty. */
  frame: Buffer = nothing;
  /** What the command found in the first run, for the next. */
  found: FoundKey | null = null;
  /** What the disk was asked for by the last run, and since when the frame waits. */
  fetched: FetchedDocument | null = null;
  documents: Documents | null = null;
  /** The heavy work of the last run. */
  heavy: HeavyAnswer | null = null;
  sinceMs = -1;
  /** Set by `settle`. */
  status: Status | null = null;

  constructor(
    holder: ReplyHolder,
    head: { opcode: number; opaque: number; ordered: boolean; quiet: boolean },
    bytes: Buffer,
  ) {
    this.holder = holder;
    this.opcode = head.opcode;
    this.opaque = head.opaque;
    this.ordered = head.ordered;
    this.quiet = head.quiet;
    this.bytes = bytes;
  }

  /** The outcome is known: the reply leaves in the connection's next stretch. */
  settle(status: Status): void {
    this.status = status;
    this.holder.settled(this);
  }
}

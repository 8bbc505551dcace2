// The messages between two data services. All integers are big-endian; u48 holds seqnos and epochs.
//
//   frame:  u32 bytes that follow, u8 form, then by its form
//   text:   the message in JSON
//   batch:  u8 bucket bytes, bucket, the head of a batch, failover log, the changes as cuts
//   got:    u8 bucket bytes, bucket, u32 bytes received, then rows: u16 shard, u48 epoch, u16 vb, u48 received, u48 persisted,
//           u8 bits (1: following)
//   batches: u8 bucket bytes, bucket, then batches: u32 bytes that follow, the head of a batch, u16 items, failover log, the items of a cut
//
//   the head of a batch: u16 shard, u48 epoch, u16 vb, u8 bits (1: live, 2: awaited), u48 start, u48 to, u48 end, u16 failover bytes

/** A document of the largest size with its key, and the header. */
export const peerFrameBytesMax = 32 * 1024 * 1024;
export const lengthBytes = 4;
export const FrameForm = { text: 1, batch: 2, got: 3, batches: 4 } as const;
export const BatchBit = { live: 1, awaited: 2 } as const;
export const batchHeadBytes = 31;
/** What one of several batches of a frame has before its failover log. */
export const partHeadBytes = lengthBytes + batchHeadBytes + 2;
export const reportedPositionBytes = 23;

/** A shard of a bucket, under an epoch of its active. */
export interface ShardRef {
  readonly bucket: string;
  readonly shard: number;
  readonly epoch: number;
}

export interface PeerHello {
  readonly kind: 'hello';
  readonly node: string;
  readonly boot: string;
  /** Its answers to heartbeats contain the duration of the promise; answers of older nodes promise ten seconds, and they expect the same. */
  readonly saysPromise?: boolean;
  /** It serves only by promises of the process that is in its in-sync set; older nodes count those of an earlier process, too. */
  readonly countsBoots?: boolean;
  /** It reads the present form of frames; version 0.2 does not. */
  readonly readsBinary?: boolean;
  /** It says of each bucket which earlier process it continues; older nodes continue none. */
  readonly saysContinued?: boolean;
}

/** Sent by both sides every 200 ms; the answer (`beaten`) repeats the time. */
export interface Beat {
  readonly kind: 'beat' | 'beaten';
  readonly sentMs: number;
  readonly wallMs: number;
  /** In an answer: for so long after it the node confirms no higher epoch. */
  readonly promiseMs?: number;
  /** In a beat: whether the sender serves only as long as such promises last; it does unless it says no. */
  readonly needsPromise?: boolean;
}

/** The last message of a process that stops: it serves no document any more, so that promises to it have ended. */
export interface Ended {
  readonly kind: 'ended';
}

/** The sender has the memory of these earlier processes of its node in this bucket, because they stopped cleanly. */
export interface Continued {
  readonly kind: 'continued';
  readonly bucket: string;
  readonly boots: readonly string[];
  /** The receiver is to say the same of itself. */
  readonly asks: boolean;
}

/** The active of a shard begins to feed the copy of the receiver. */
export interface Open extends ShardRef {
  readonly kind: 'open';
  readonly incarnation: number;
  /** The feed of the active that asks; the answer repeats it. */
  readonly feed: number;
}

/** The copy has changes in these vbuckets that the active does not have: it removes these vbuckets and is rebuilt. */
export interface Empty extends ShardRef {
  readonly kind: 'empty';
  readonly vbs: readonly number[];
}

/**
 * `opened`: the copy is ready. `refused`: the copy knows a higher epoch, which is `epoch`. `failed`: the copy could not apply a batch, and
 * the active asks for its position again.
 */
export interface Opened extends ShardRef {
  readonly kind: 'opened' | 'refused' | 'failed';
  readonly rows: readonly CopyPosition[];
  /** The feed that is answered; absent: an older node answers. */
  readonly feed?: number;
  /** Bytes of batches that the copy received and will not apply. */
  readonly bytes?: number;
}

export interface CopyPosition {
  readonly vb: number;
  readonly high: number;
  readonly persisted: number;
  /** In base64, as its file has it. */
  readonly failover: string;
}

/**
 * Changes of a vbucket after `start - 1` and up to `to`, of a snapshot that ends at `end`. `live`: the copy then has all that the active
 * had when it sent this.
 */
export interface CopyBatch extends ShardRef {
  readonly kind: 'batch';
  readonly vb: number;
  readonly start: number;
  readonly to: number;
  readonly end: number;
  readonly live: boolean;
  /** A durable write waits for the answer; otherwise the answer may contain the positions after later batches, too. */
  readonly isAwaited: boolean;
  /** With the first batch: the active's failover log, as its file has it. */
  readonly failover?: Uint8Array | undefined;
}

/** The changes of a batch: what `bytes` has from `start` to `end`, as cuts, or as `items` of one cut without its header. */
export interface BatchBody {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** -1: cuts. */
  readonly items: number;
}

/** How far the copies of the sender are. `bytes` were received since the last such message. */
export interface PositionReport {
  readonly kind: 'got';
  readonly bucket: string;
  readonly bytes: number;
  /** As the frame has them; `position-rows.ts` reads them. */
  readonly rows: Buffer;
}

export interface ReportedPosition {
  readonly shard: number;
  readonly epoch: number;
  readonly vb: number;
  readonly received: number;
  readonly persisted: number;
  readonly following: boolean;
}

/** A batch of version 0.2, with its failover log in base64. */
export interface EarlierBatch extends Omit<CopyBatch, 'failover' | 'isAwaited'> {
  readonly failover?: string;
}

/** How far one vbucket of a copy is, in version 0.2. */
export interface EarlierGot extends ShardRef, ReportedPosition {
  readonly kind: 'got';
  readonly bytes: number;
}

type EarlierOpen = Omit<Open, 'feed'> & Partial<Pick<Open, 'feed'>>;
export type EarlierMessage = Exclude<TextMessage, Open | Continued> | EarlierOpen | EarlierBatch | EarlierGot;

/** Rare messages, whose form is text. */
export type TextMessage = PeerHello | Beat | Ended | Continued | Open | Empty | Opened;
export type PeerMessage = TextMessage | CopyBatch | PositionReport;

// The messages between two data services. All integers are big-endian; u48 holds seqnos and epochs.
//
//   frame:  u32 bytes that follow, u8 form, then by its form
//   text:   the message in JSON
//   batch:  u8 bucket bytes, bucket, the head of a batch, failover log, the changes as cuts
//   text with a body: u32 bytes of the message, the message in JSON, the body
//   got:    u8 bucket bytes, bucket, u32 bytes received, then rows: u16 shard, u48 epoch, u16 vb, u48 received, u48 persisted,
//           u8 bits (1: following)
//   batches: u8 bucket bytes, bucket, then batches: u32 bytes that follow, the head of a batch, u16 items, failover log, the items of a cut
//
//   the head of a batch: u16 shard, u48 epoch, u16 vb, u8 bits (1: live, 2: awaited, 4: awaits disk), u48 start, u48 to, u48 end, u16 failover bytes

/** Enough for a document of the largest size with its key, and for the header. */
export const peerFrameBytesMax = 32 * 1024 * 1024;
export const lengthBytes = 4;
export const FrameForm = { text: 1, batch: 2, got: 3, batches: 4, textWithBody: 5 } as const;
export const BatchBit = { live: 1, awaited: 2, awaitsDisk: 4 } as const;
export const batchHeadBytes = 31;
/** The bytes that each of several batches in a frame has before its failover log. */
export const partHeadBytes = lengthBytes + batchHeadBytes + 2;
export const reportedPositionBytes = 23;
/** The length of a message before its body. */
export const textBytes = 4;

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A shard of a bucket, under an epoch of its active. */
export interface ShardRef {
  /** The uuid of the bucket. */
  readonly bucket: string;
  readonly shard: number;
  readonly epoch: number;
}

export interface PeerHello {
  readonly kind: 'hello';
  readonly node: string;
  readonly boot: string;
  /** The sender's answers to heartbeats contain the duration of the promise; answers of older nodes promise ten seconds, and they expect the same. */
  readonly saysPromise?: boolean;
  /** The sender serves only by promises of the process that is in its in-sync set; older nodes count those of an earlier process, too. */
  readonly countsBoots?: boolean;
  /** The sender reads the present form of frames; version 0.2 does not. */
  readonly readsBinary?: boolean;
  /** The sender says of each bucket which earlier process it continues; older nodes continue none. */
  readonly saysContinued?: boolean;
  /** The sender rolls copies back by key, and sends what other nodes need for that; copies of older nodes are rebuilt as a whole. */
  readonly rollsBack?: boolean;
}

/** A heartbeat, which both sides send every 200 ms, and the answer (`beaten`), which repeats its `sentMs`. */
export interface Beat {
  readonly kind: 'beat' | 'beaten';
  readonly sentMs: number;
  readonly wallMs: number;
  /** In an answer: for this time after it the sender confirms no higher epoch. */
  readonly promiseMs?: number;
  /** In a heartbeat: whether the sender serves only as long as such promises last; absent: it does. */
  readonly needsPromise?: boolean;
}

/** The last message of a process that stops: it serves no document any more, so that promises to it have ended. */
export interface EndedMessage {
  readonly kind: 'ended';
}

/** The sender has the memory of these earlier processes of its node in this bucket, because they stopped cleanly. */
export interface ContinuedMessage {
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
  /** The histories of the vbuckets; absent: an older node asks. Nodes of earlier versions send no `purge`. */
  readonly rows?: readonly (VbucketHistory & Partial<ActiveHistory>)[];
}

export interface VbucketHistory {
  readonly vb: number;
  readonly high: number;
  /** The failover log in base64, as the file has it. */
  readonly failover: string;
}

/** The copy has changes in these vbuckets that the active does not have: it removes these vbuckets and is rebuilt. */
export interface Empty extends ShardRef {
  readonly kind: 'empty';
  readonly vbs: readonly number[];
}

/** From the active: in these vbuckets the copy has changes that the active does not have, and has left the in-sync set. */
export interface RollBack extends ShardRef {
  readonly kind: 'rollBack';
  readonly rows: readonly ActiveHistory[];
}

/** The history of a vbucket at its active. */
export interface ActiveHistory extends VbucketHistory {
  /** Tombstones up to this seqno may have been purged. */
  readonly purge: number;
}

/** From the copy, with keys (document-keys.ts): which versions at or below `upTo` the active has of them. */
export interface WantedVersions extends ShardRef {
  readonly kind: 'wanted';
  readonly vb: number;
  /** Numbers the requests of a process. */
  readonly request: number;
  readonly upTo: number;
}

/** From the active, with the versions as a cut. If it answers no key, it cannot read the versions. */
export interface SentVersions extends ShardRef {
  readonly kind: 'versions';
  readonly vb: number;
  readonly request: number;
  /** How many of the keys, from the first on, are answered. */
  readonly answered: number;
  /** The highest seqno of those answered keys whose version is above `upTo`, which comes with the feed; 0: there is none. */
  readonly newest: number;
  /** As in `ActiveHistory`. */
  readonly purge: number;
}

/**
 * `opened`: the copy is ready. `refused`: the copy knows a higher epoch, which is `epoch`. `failed`: the copy could not apply a batch, and
 * the active asks for its position again.
 */
export interface OpenedMessage extends ShardRef {
  readonly kind: 'opened' | 'refused' | 'failed';
  readonly rows: readonly CopyPosition[];
  /** The feed that is answered; absent: an older node answers. */
  readonly feed?: number;
  /** Bytes of batches that the copy received and will not apply. */
  readonly bytes?: number;
}

export interface CopyPosition extends VbucketHistory {
  readonly persisted: number;
  /** The end of a snapshot that the copy has only in part. */
  readonly snapEnd?: number;
  /**
   * Where it is above `high`: the copy began from nothing after tombstones up to this seqno had been purged, and its filling was interrupted. Nodes of
   * earlier versions do not send it.
   */
  readonly purge?: number;
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
  /** A durable write waits until the copy has it on disk. */
  readonly awaitsDisk: boolean;
  /** With the first batch: the active's failover log, as its file has it. */
  readonly failover?: Uint8Array | undefined;
}

/** A batch whose fields its reader fills. */
export const emptyBatch = (): Mutable<CopyBatch> => ({
  kind: 'batch',
  bucket: '',
  shard: 0,
  epoch: 0,
  vb: 0,
  start: 0,
  to: 0,
  end: 0,
  live: false,
  isAwaited: false,
  awaitsDisk: false,
  failover: undefined,
});

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
  /** The encoded rows of the frame, which `position-rows.ts` reads. */
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
export interface EarlierBatch extends Omit<CopyBatch, 'failover' | 'isAwaited' | 'awaitsDisk'> {
  readonly failover?: string;
}

/** How far one vbucket of a copy is, in version 0.2. */
export interface EarlierGot extends ShardRef, ReportedPosition {
  readonly kind: 'got';
  readonly bytes: number;
}

type EarlierOpen = Omit<Open, 'feed'> & Partial<Pick<Open, 'feed'>>;
export type EarlierMessage =
  | Exclude<TextMessage, Open | ContinuedMessage | RollBack | WantedVersions | SentVersions>
  | EarlierOpen
  | EarlierBatch
  | EarlierGot;

/** Rare messages, whose form is text. */
export type TextMessage =
  | PeerHello
  | Beat
  | EndedMessage
  | ContinuedMessage
  | Open
  | Empty
  | OpenedMessage
  | RollBack
  | WantedVersions
  | SentVersions;
export type PeerMessage = TextMessage | CopyBatch | PositionReport;

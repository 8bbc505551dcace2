// Feeds one copy of a shard whose active is here: asks the copy for its position, and sends each of its vbuckets from that seqno on.
import type { Clock } from '#ports/clock.ts';
import type { SyncMember } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import type { CutWriter } from '../data/cut.ts';
import { decodeLog, historyOf, isContinued } from './branch.ts';
import { CopyBatches } from './copy-batches.ts';
import { activeHistory } from './copy-position.ts';
import type { DelayedWork } from './delayed-work.ts';
import type { OpenedMessage, ReportedPosition, ShardRef } from './frames.ts';
import type { PeerConnections } from './peers.ts';
import { VbucketFeed } from './vbucket-feed.ts';

export interface CopyFeedOptions {
  node: string;
  shard: ShardRef;
  incarnation: number;
  vbs: readonly number[];
  bucket: Bucket;
  peers: PeerConnections;
  /** Shared by all feeds. */
  cuts: CutWriter;
  delayed: DelayedWork;
  /** Whether requests wait for the shard. */
  isUrgent: () => boolean;
  clock: Clock;
  /** Called when every vbucket of the copy has reached the end of its feed for the first time. */
  follows: () => void;
  /** Called with vbuckets whose history in the copy differs from the active's. */
  diverged: (vbs: readonly number[]) => void;
  /** Called when the copy cannot be fed. */
  failed: (reason: string) => void;
}

/** The key of a copy in the progress of a vbucket. It contains the boot: what an earlier process of the node received does not count. */
export const copyKey = ({ node, boot }: SyncMember): string => `${node} ${boot}`;

/** The number of the last feed that this process made. */
let lastNumber = 0;

export class CopyFeed {
  /** The boot of the copy that answered. */
  boot: string | null = null;
  private readonly options: CopyFeedOptions;
  private readonly feeds = new Map<number, VbucketFeed>();
  /** By vbucket: up to which seqno tombstones were purged when the copy was asked for its position. */
  private readonly purged = new Map<number, number>();
  private readonly sink: CopyBatches;
  /** How many vbuckets of the copy have reached the end of their feed. */
  private following = 0;
  /** The key of the copy that answered. */
  private key = '';
  private isClosed = false;
  private readonly number = ++lastNumber;

  constructor(options: CopyFeedOptions) {
    this.options = options;
    this.sink = new CopyBatches(options);
  }

  /** Asks the copy for its position in each vbucket. */
  open(): void {
    const { bucket, incarnation, node, peers, shard, vbs } = this.options;
    const rows = vbs.map((vb) => activeHistory(bucket, vb));
    for (const { purge, vb } of rows) this.purged.set(vb, purge);
    peers.send(node, { kind: 'open', ...shard, incarnation, feed: this.number, rows });
  }

  /** Whether every vbucket of the copy has reached the end of its feed at least once. */
  get isFollowing(): boolean {
    return this.following === this.options.vbs.length;
  }

  opened(message: OpenedMessage): void {
    try {
      this.begin(message);
    } catch (error) {
      this.options.failed((error as Error).message);
    }
  }

  private begin({ feed, rows }: OpenedMessage): void {
    const { bucket, node, peers } = this.options;
    if (this.isClosed || this.boot !== null) return;
    // An answer to an earlier feed has the position of the copy before it was emptied, or before it failed.
    if (feed !== undefined && feed !== this.number) return;
    const boot = peers.bootOf(node);
    if (boot === null) return;
    this.boot = boot;
    const key = copyKey({ node, boot });
    this.key = key;
    // Each process of a node has a key of its own: those of the earlier ones would stay in memory.
    const prefix = copyKey({ node, boot: '' });
    bucket.progress.discardCopies((other) => other !== key && other.startsWith(prefix));
    const diverged: number[] = [];
    const named = new Set(rows.map(({ vb }) => vb));
    if (named.size < rows.length) throw new Error('the copy names a vbucket twice');
    for (const row of rows) {
      const { failover, high, snapEnd = 0, vb } = row;
      if (!this.options.vbs.includes(vb))
        throw new Error(`the copy names vbucket ${vb}, which is not of this shard`);
      bucket.progress.discardCopy(vb, key);
      if (!isContinued({ log: decodeLog(failover), high, snapEnd }, historyOf(bucket, vb))) diverged.push(vb);
      else bucket.progress.copied(vb, key, high, Math.min(row.persisted, high));
    }
    if (diverged.length > 0) {
      this.options.diverged(diverged);
      return;
    }
    for (const { high, purge = 0, vb } of rows) {
      const asked = high === 0 ? (this.purged.get(vb) ?? 0) : 0;
      this.feed(vb, high, Math.max(purge, asked));
    }
  }

  /** @throws Error when the copy cannot have what it reports. */
  positionReported({ vb, received, persisted, following }: ReportedPosition): void {
    const feed = this.feeds.get(vb);
    if (this.isClosed || feed === undefined) return;
    // Otherwise later writes would count as received.
    const high = this.options.bucket.changes.highSeqno(vb);
    if (received > high)
      throw new Error(`the copy reports seqno ${received} of vbucket ${vb}, of which ${high} is the last`);
    if (following) this.noteFollowing(feed);
    this.options.bucket.progress.copied(vb, this.key, received, Math.min(persisted, received));
  }

  private noteFollowing(feed: VbucketFeed): void {
    if (feed.isFollowed) return;
    feed.isFollowed = true;
    this.following++;
    if (this.isFollowing) this.options.follows();
  }

  resume(): void {
    for (const feed of this.feeds.values()) feed.resume();
  }

  close(): void {
    this.isClosed = true;
    for (const feed of this.feeds.values()) feed.close();
    this.feeds.clear();
  }

  private feed(vb: number, position: number, knownPurge: number): void {
    const { bucket, clock, delayed, diverged, failed, isUrgent } = this.options;
    const tooOld = (): void => diverged([vb]);
    const source = bucket.changes;
    const { sink } = this;
    const history = (): Uint8Array => bucket.history(vb);
    const options = {
      source,
      vb,
      position,
      knownPurge,
      clock,
      failed,
      tooOld,
      delayed,
      isUrgent,
      sink,
      history,
    };
    const feed = new VbucketFeed(options);
    this.feeds.set(vb, feed);
    // A copy that has every change is following at once: the feed sends nothing until the next change.
    if (position === source.highSeqno(vb)) this.noteFollowing(feed);
    feed.start();
  }
}

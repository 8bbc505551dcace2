// Writes the batches of one copy to its connection. Changes from memory go into the frame that gathers the batches of this turn; to a node of
// version 0.2, and for a page that was read from disk, a batch is a message of its own.
import { type CutItem, type CutWriter, stateOfVbucket } from '../data/cut.ts';
import type { FrameWriter } from './frame-writer.ts';
import type { CopyBatch, ShardRef } from './frames.ts';
import type { PeerConnections } from './peers.ts';
import type { BatchSink, EncodedPage, VbucketBatch } from './vbucket-feed.ts';

export interface CopyBatchesOptions {
  node: string;
  shard: ShardRef;
  peers: Pick<PeerConnections, 'batchFrames' | 'batchWritten' | 'mayFeed' | 'sendPage'>;
  /** For nodes of version 0.2. Shared by all copies: used within one call. */
  cuts: CutWriter;
}

export class CopyBatches implements BatchSink {
  private readonly options: CopyBatchesOptions;
  /** Where the batch that was begun is written; null: as a message. */
  private frames: FrameWriter | null = null;
  private vb = 0;
  private failover: Uint8Array | undefined;

  constructor(options: CopyBatchesOptions) {
    this.options = options;
  }

  get hasRoom(): boolean {
    return this.options.peers.mayFeed(this.options.node);
  }

  begin(vb: number, failover?: Uint8Array): void {
    const { cuts, node, peers, shard } = this.options;
    this.frames = peers.batchFrames(node);
    this.vb = vb;
    this.failover = failover;
    if (this.frames !== null) this.frames.beginBatch(shard, vb, failover);
    else cuts.begin(0);
  }

  item(item: CutItem): void {
    (this.frames ?? this.options.cuts).item(item);
  }

  get bytes(): number {
    return this.frames === null ? this.options.cuts.bytes : this.frames.batchBytes;
  }

  end(batch: VbucketBatch): void {
    const { cuts, node, peers } = this.options;
    if (this.frames !== null) {
      peers.batchWritten(node, this.frames.endBatch(batch));
      return;
    }
    cuts.finish(stateOfVbucket(this.vb));
    const sent = (): void => cuts.discard();
    this.page(this.vb, batch, { cuts: cuts.written(), failover: this.failover, sent });
  }

  abandon(): void {
    if (this.frames !== null) this.frames.abandonBatch();
    else this.options.cuts.abandon();
  }

  page(
    vb: number,
    { awaitsDisk, end, isAwaited, live, start, to }: VbucketBatch,
    { cuts, failover, sent }: EncodedPage,
  ): void {
    const { node, peers, shard } = this.options;
    const range = { start, to, end, live, isAwaited, awaitsDisk };
    const message: CopyBatch = { kind: 'batch', ...shard, vb, ...range };
    peers.sendPage(node, failover === undefined ? message : { ...message, failover }, cuts, sent);
  }
}

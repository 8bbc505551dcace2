// The copies of a shard that its active feeds: one feed for each connected node to which the map gives a copy.
import type { Log } from '#ports/log.ts';
import { CopyFeed, type CopyFeedOptions } from './copy-feed.ts';
import { FeedFailures } from './feed-failures.ts';
import type { OpenedMessage, ReportedPosition, ShardRef } from './frames.ts';

type FeedParts = 'bucket' | 'clock' | 'cuts' | 'delayed' | 'incarnation' | 'peers' | 'vbs';

export interface FedCopiesOptions extends Pick<CopyFeedOptions, FeedParts> {
  ref: ShardRef;
  log: Log;
  /** Called when a check of the shards would find a change that is due. */
  checks: { readonly due: () => void };
  /** Whether requests wait for the shard. */
  holdsRequests: () => boolean;
  /** Called with vbuckets whose history in the copy of the node differs from the active's. */
  diverged: (node: string, vbs: readonly number[]) => void;
}

/** Pauses before the position of a copy that does not answer is requested again; `waiting`: requests wait for the shard. */
const reopenMs = { served: 1_000, waiting: 50 };

interface FedCopy {
  readonly feed: CopyFeed;
  openedMs: number;
}

export class FedCopies {
  private readonly options: FedCopiesOptions;
  private readonly copies = new Map<string, FedCopy>();
  private readonly failures: FeedFailures;

  constructor(options: FedCopiesOptions) {
    this.options = options;
    this.failures = new FeedFailures(options);
  }

  get size(): number {
    return this.copies.size;
  }

  /** By node. */
  get feeds(): [node: string, feed: CopyFeed][] {
    return [...this.copies].map(([node, { feed }]) => [node, feed]);
  }

  feedOf(node: string): CopyFeed | undefined {
    return this.copies.get(node)?.feed;
  }

  /** Starts to feed the copies of these nodes, as far as the nodes are connected, and stops feeding the copies of other nodes. */
  follow(nodes: readonly string[]): void {
    const { clock, holdsRequests, peers } = this.options;
    const firstMs = holdsRequests() ? reopenMs.waiting : reopenMs.served;
    for (const node of [...this.copies.keys()]) if (!nodes.includes(node)) this.end(node);
    for (const node of nodes) {
      if (peers.bootOf(node) === null) continue;
      const fed = this.copies.get(node) ?? { feed: this.newFeed(node), openedMs: -Infinity };
      this.copies.set(node, fed);
      const pauseMs = this.failures.pauseMs(node, firstMs);
      if (fed.feed.boot !== null || clock.monotonicMs() - fed.openedMs < pauseMs) continue;
      fed.openedMs = clock.monotonicMs();
      fed.feed.open();
    }
  }

  positionReported(node: string, row: ReportedPosition): void {
    this.feedOf(node)?.positionReported(row);
  }

  received(node: string, message: OpenedMessage): void {
    const feed = this.feedOf(node);
    if (message.kind === 'opened') feed?.opened(message);
    else if (message.kind === 'failed' && feed) this.openLater(node);
  }

  resume(node: string): void {
    this.feedOf(node)?.resume();
  }

  end(node: string): void {
    this.feedOf(node)?.close();
    this.copies.delete(node);
  }

  endAll(): void {
    for (const node of [...this.copies.keys()]) this.end(node);
  }

  /** Asks the copy for its position again, after a pause. */
  openLater(node: string): void {
    this.end(node);
    this.copies.set(node, { feed: this.newFeed(node), openedMs: this.options.clock.monotonicMs() });
  }

  private newFeed(node: string): CopyFeed {
    const { checks, diverged, holdsRequests, ref } = this.options;
    return new CopyFeed({
      ...this.options,
      node,
      shard: ref,
      isUrgent: holdsRequests,
      follows: () => {
        this.failures.ended(node);
        checks.due();
      },
      diverged: (vbs) => diverged(node, vbs),
      failed: (reason) => {
        this.failures.failed(node, reason);
        this.openLater(node);
      },
    });
  }
}

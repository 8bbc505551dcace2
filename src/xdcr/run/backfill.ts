// Replicates the documents of collections from the start, by routes that left them out before; the main streams send the later changes.
import type { Change } from '#client/change.ts';
import type { StreamPosition } from '#client/change-connection.ts';
import type { ChangeFollower, FollowerHandler } from '#client/change-follower.ts';
import { EndReason } from '#wire/dcp.ts';
import { fromStart } from '../source/vb-progress.ts';

export interface BackfillOptions {
  readonly routeIds: ReadonlySet<string>;
  readonly vbuckets: readonly number[];
  /** Streams that end with the newest change. */
  readonly follow: (handler: FollowerHandler) => ChangeFollower;
  readonly replicate: (change: Change, done: () => void) => void;
  readonly failed: (reason: Error) => void;
  /** Called when the target has all that was replicated. */
  readonly finished: () => void;
}

export class Backfill implements FollowerHandler {
  readonly follower: ChangeFollower;
  readonly routeIds: ReadonlySet<string>;
  /** Routes by which documents were left out: the target lost the collection again, or the source one of the collections. */
  readonly incomplete = new Set<string>();
  private readonly options: BackfillOptions;
  private readonly openVbuckets: Set<number>;
  private unacknowledged = 0;

  constructor(options: BackfillOptions) {
    this.routeIds = options.routeIds;
    this.options = options;
    this.openVbuckets = new Set(options.vbuckets);
    this.follower = options.follow(this);
  }

  change(change: Change): void {
    this.unacknowledged++;
    this.options.replicate(change, () => {
      this.unacknowledged--;
      this.finishIfDone();
    });
  }

  ended(vb: number, reason: EndReason): void {
    // A stream of several collections is refused if one of them is gone.
    if (reason === EndReason.filterEmpty) for (const id of this.routeIds) this.incomplete.add(id);
    this.openVbuckets.delete(vb);
    this.finishIfDone();
  }

  positionOf(): StreamPosition {
    return fromStart;
  }

  lost(reason: Error): void {
    this.options.failed(reason);
  }

  opened(): void {}
  snapshot(): void {}
  advanced(): void {}
  event(): void {}
  drained(): void {}
  rollback(): void {}

  private finishIfDone(): void {
    if (this.openVbuckets.size > 0 || this.unacknowledged > 0) return;
    this.options.finished();
    void this.follower.stop();
  }
}

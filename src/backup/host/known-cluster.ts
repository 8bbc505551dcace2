// Where the vbuckets of this node's cluster are, as the main thread last reported. A job that creates a bucket waits here until the layout has it.
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { Clock } from '#ports/clock.ts';
import { within } from '#ports/within.ts';
import { BackupError } from '../format/backup-error.ts';
import type { NodeAccess } from '../node/backup-node.ts';

/** The time within which the vbuckets of a new bucket are on the nodes. */
const vbucketsTimeoutMs = 30_000;

export class KnownCluster {
  private readonly clock: Clock;
  /** Undefined until the main thread has sent it; null: this node is the only one. */
  private layout: ClusterLayout | null | undefined;
  private readonly waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  follow(layout: ClusterLayout | null): void {
    this.layout = layout;
    for (const recheck of [...this.waiting]) recheck();
  }

  /** Returns the present access of a job to its own cluster, which may have changed; access to other clusters is returned unchanged. */
  accessOf(access: NodeAccess): NodeAccess {
    const { ownCluster } = access;
    if (ownCluster === undefined) return access;
    const layoutWith = (bucket: string) => this.layoutWith(bucket, ownCluster.layout);
    return { ...access, ownCluster: { ...ownCluster, layoutWith } };
  }

  /** `first`: the layout when the job began. @throws BackupError if no node has vbuckets of the bucket in time */
  private async layoutWith(bucket: string, first: ClusterLayout | null): Promise<ClusterLayout | null> {
    const current = () => (this.layout === undefined ? first : this.layout);
    const hasVbuckets = (): boolean => {
      const layout = current();
      return layout === null || layout.nodes.length === 0 || Object.hasOwn(layout.actives, bucket);
    };
    if (hasVbuckets()) return current();
    const { promise, resolve } = Promise.withResolvers<void>();
    const recheck = () => {
      if (hasVbuckets()) resolve();
    };
    this.waiting.add(recheck);
    const timeoutError = () =>
      new BackupError(`bucket "${bucket}" has no vbuckets after ${vbucketsTimeoutMs / 1_000} s`);
    try {
      await within(this.clock, vbucketsTimeoutMs, promise, timeoutError);
      return current();
    } finally {
      this.waiting.delete(recheck);
    }
  }
}

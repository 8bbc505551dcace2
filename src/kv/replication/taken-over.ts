// What a new active took over from the active before it. It serves the shard once its members have received all of that. It acknowledges writes
// as persisted once its own disk has all of that: until then, another member would continue the shard if all members lost their memory.
import type { ShardChange, ShardSpec, SyncMember } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { copyKey } from './copy-feed.ts';
import type { ShardRef } from './frames.ts';
import type { PeerConnections } from './peers.ts';

export interface TakenOverOptions {
  ref: Pick<ShardRef, 'epoch' | 'shard'>;
  /** The vbuckets of the shard. */
  vbs: readonly number[];
  bucket: Pick<Bucket, 'applier' | 'columns' | 'isOnDisk' | 'progress'>;
  peers: Pick<PeerConnections, 'bootOf'>;
  /** This process had a copy of the shard until now: the members must have all of its changes before it is served. */
  tookOver: boolean;
}

type Written = Extract<ShardChange, { kind: 'written' }>;

export class TakenOver {
  private readonly options: TakenOverOptions;
  /** By vbucket: the seqno that it had when this process became the active. */
  private readonly seqnos: ReadonlyMap<number, number>;
  /** Whether members must still receive what this process took over. */
  isUnderWay: boolean;

  constructor(options: TakenOverOptions) {
    const { bucket, tookOver, vbs } = options;
    this.options = options;
    this.seqnos = new Map(vbs.map((vb) => [vb, bucket.columns.highSeqno[vb] as number]));
    this.isUnderWay = tookOver;
  }

  /** Whether the shard may be served, as to what was taken over; `members`: the number of members of the in-sync set. */
  isComplete(members: number): boolean {
    if (!this.isUnderWay) return true;
    const { progress } = this.options.bucket;
    const isBelowMajority = members < progress.majority;
    for (const [vb, seqno] of this.seqnos)
      if (progress.committedSeqno(vb) < seqno || (isBelowMajority && !this.isVbucketOnDisk(vb, seqno)))
        return false;
    this.isUnderWay = false;
    return true;
  }

  isReceivedBy(member: SyncMember): boolean {
    const { progress } = this.options.bucket;
    const key = copyKey(member);
    return [...this.seqnos].every(([vb, seqno]) => progress.receivedSeqno(vb, key) >= seqno);
  }

  /** What was acknowledged must be on disk before the in-sync set gets smaller than a majority. What is not is written at once. */
  ensureOnDisk(): boolean {
    const { progress } = this.options.bucket;
    const takenOver = (vb: number): number => (this.isUnderWay ? (this.seqnos.get(vb) ?? 0) : 0);
    return this.write((vb) => Math.max(progress.committedSeqno(vb), takenOver(vb)));
  }

  /**
   * Where another member is the last active: the change that makes this process the last active, once everything that it took over is on its disk.
   * If the last active is to leave the set before that, a member that has everything on its disk becomes the last active. `leaving`: the members
   * that are to leave.
   */
  writtenChange({ inSync = [], lastActive }: ShardSpec, leaving: readonly SyncMember[]): Written | null {
    if (lastActive === undefined) return null;
    const { epoch, shard } = this.options.ref;
    const written = { shard, epoch, kind: 'written' } as const;
    if (this.write((vb) => this.seqnos.get(vb) ?? 0)) return written;
    if (!leaving.some(({ node }) => node === lastActive)) return null;
    const other = inSync.find((member) => !leaving.includes(member) && this.isOnDiskOf(member));
    return other === undefined ? null : { ...written, by: other.node };
  }

  private isOnDiskOf(member: SyncMember): boolean {
    const { bucket, peers } = this.options;
    if (peers.bootOf(member.node) !== member.boot) return false;
    const key = copyKey(member);
    return [...this.seqnos].every(([vb, seqno]) => bucket.progress.copyPersistedSeqno(vb, key) >= seqno);
  }

  /** Whether each vbucket is on disk up to this seqno. What is not is written at once. */
  private write(seqnoOf: (vb: number) => number): boolean {
    const { bucket, vbs } = this.options;
    const missing = vbs.filter((vb) => !this.isVbucketOnDisk(vb, seqnoOf(vb)));
    for (const vb of missing) bucket.applier.writeSoon(vb);
    return missing.length === 0;
  }

  private isVbucketOnDisk(vb: number, seqno: number): boolean {
    const { bucket } = this.options;
    return !bucket.isOnDisk || bucket.progress.persistedSeqno(vb) >= seqno;
  }
}

// The in-sync sets of the shards whose active is here, and what each copy has received and persisted. A vbucket without other members
// costs nothing: all that it has is received by every member.
import { VbucketState } from '../../data/vbucket-state.ts';
import type { VbucketColumns } from '../../vbucket/columns.ts';

/** The in-sync set of a shard as its active counts it. */
export interface SyncSet {
  /** The other members; while a change of the set is under way, those of the larger set. */
  readonly others: readonly string[];
  /** The number of members, the active included, that the configuration is certain to list. */
  readonly size: number;
  /** Nothing is committed: the outcome of a change of the set is unknown, after which the set may have too few members. */
  readonly isFrozen: boolean;
  /** Nothing is acknowledged as persisted: if all members lost their memory, the last active would continue, whose disk lacks what this one writes. */
  readonly isUnwritten?: boolean;
  /** The number of members once all copies that the map names are in sync; absent: as many as a majority needs. */
  readonly sizeMax?: number;
}

interface Positions {
  readonly received: Float64Array;
  readonly persisted: Float64Array;
}

const alone = 1;
const noMembers: readonly Positions[] = [];

export class SyncSets {
  private readonly columns: VbucketColumns;
  private readonly sets: (SyncSet | null)[];
  /** By vbucket: the positions of the other members of its set. Looked up once, since each report needs them. */
  private readonly members: (readonly Positions[])[];
  private readonly positions = new Map<string, Positions>();
  /** The committed seqno of vbuckets with other members. */
  private readonly committed: Float64Array;

  constructor(columns: VbucketColumns) {
    this.columns = columns;
    this.sets = new Array<SyncSet | null>(columns.count).fill(null);
    this.members = new Array<readonly Positions[]>(columns.count).fill(noMembers);
    this.committed = new Float64Array(columns.count);
  }

  /** Null: there are no other nodes. The committed seqno does not fall. */
  set(vb: number, set: SyncSet | null): void {
    this.committed[vb] = this.committedSeqno(vb);
    this.sets[vb] = set;
    this.members[vb] = set === null ? noMembers : set.others.map((node) => this.positionsOf(node));
    this.advance(vb);
  }

  /** As `set`, for a vbucket that becomes active here: it is unknown which of its writes the members have. */
  begin(vb: number, set: SyncSet | null): void {
    this.set(vb, set);
    this.committed[vb] = 0;
    this.advance(vb);
  }

  hasOthers(vb: number): boolean {
    return (this.members[vb] ?? noMembers).length > 0;
  }

  size(vb: number): number {
    return this.sets[vb]?.size ?? alone;
  }

  /** Whether the in-sync set of the vbucket has fewer members than this; never where there are no other nodes. */
  isBelow(vb: number, majority: number): boolean {
    const set = this.sets[vb];
    return set != null && set.size < majority;
  }

  /** Whether the set is certain to have fewer members than this. */
  isCertainlyBelow(vb: number, majority: number): boolean {
    return this.sets[vb]?.isFrozen === false && this.isBelow(vb, majority);
  }

  /** Whether too few nodes have copies for a set of this size. */
  staysBelow(vb: number, majority: number): boolean {
    return this.isCertainlyBelow(vb, majority) && (this.sets[vb]?.sizeMax ?? majority) < majority;
  }

  /** Everything up to here was received by every member. */
  committedSeqno(vb: number): number {
    return (this.hasOthers(vb) ? this.committed[vb] : this.columns.highSeqno[vb]) as number;
  }

  /** A copy reports the seqnos that it has received and persisted. False where that changes nothing for the vbucket. */
  report(vb: number, node: string, received: number, persisted: number): boolean {
    const positions = this.positionsOf(node);
    positions.received[vb] = Math.max(positions.received[vb] as number, received);
    positions.persisted[vb] = Math.max(positions.persisted[vb] as number, persisted);
    if (!this.members[vb]?.includes(positions)) return false;
    this.advance(vb);
    return true;
  }

  /** Discards the positions that the node has reported: they belong to an earlier boot, or to a history that the node has left. */
  discard(vb: number, node: string): void {
    const positions = this.positionsOf(node);
    positions.received[vb] = positions.persisted[vb] = 0;
  }

  /** Discards all positions of these copies, except of members of some set. */
  discardAll(isDiscarded: (node: string) => boolean): void {
    for (const [node, positions] of this.positions)
      if (isDiscarded(node) && !this.members.some((members) => members.includes(positions)))
        this.positions.delete(node);
  }

  received(vb: number, node: string): number {
    return this.positions.get(node)?.received[vb] ?? 0;
  }

  persisted(vb: number, node: string): number {
    return this.positions.get(node)?.persisted[vb] ?? 0;
  }

  /**
   * Whether this number of members has the vbucket on disk up to `seqno`. The active must be one of them: when all members restart, it
   * becomes active again.
   */
  isPersistedBy(vb: number, seqno: number, members: number): boolean {
    if ((this.columns.persistedSeqno[vb] as number) < seqno || this.sets[vb]?.isUnwritten) return false;
    let count = 1;
    for (const { persisted } of this.members[vb] ?? noMembers)
      if ((persisted[vb] as number) >= seqno) count++;
    return count >= members;
  }

  /** Whether the vbucket is active here, and what the disk has of it is not acknowledged as persisted yet. */
  isUnwritten(vb: number): boolean {
    return this.sets[vb]?.isUnwritten === true && this.columns.state[vb] === VbucketState.active;
  }

  private advance(vb: number): void {
    const set = this.sets[vb];
    if (!set || set.isFrozen) return;
    let reached = this.columns.highSeqno[vb] as number;
    for (const { received } of this.members[vb] ?? noMembers)
      reached = Math.min(reached, received[vb] as number);
    this.committed[vb] = Math.max(this.committed[vb] as number, reached);
  }

  private positionsOf(node: string): Positions {
    const existing = this.positions.get(node);
    if (existing) return existing;
    const column = (): Float64Array => new Float64Array(this.columns.count);
    const created = { received: column(), persisted: column() };
    this.positions.set(node, created);
    return created;
  }
}

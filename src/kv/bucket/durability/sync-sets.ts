// The in-sync sets of the shards whose active is here, and what each copy has received and persisted. A vbucket without other members
// costs nothing: all that it has is received by every member.
import type { VbucketRows } from '../../vbucket/rows.ts';

/** The in-sync set of a shard as its active counts it. */
export interface SyncSet {
  /** The other members; while a change of the set is under way, those of the larger set. */
  readonly others: readonly string[];
  /** Members that the configuration lists for certain, the active included. */
  readonly size: number;
  /** Nothing is committed: a change that may leave too few members has an unknown outcome. */
  readonly isFrozen: boolean;
}

interface Positions {
  readonly received: Float64Array;
  readonly persisted: Float64Array;
}

const alone = 1;

export class SyncSets {
  private readonly rows: VbucketRows;
  private readonly sets: (SyncSet | null)[];
  private readonly positions = new Map<string, Positions>();
  /** The committed seqno of vbuckets with other members. */
  private readonly committed: Float64Array;

  constructor(rows: VbucketRows) {
    this.rows = rows;
    this.sets = new Array<SyncSet | null>(rows.count).fill(null);
    this.committed = new Float64Array(rows.count);
  }

  /** Null: there are no other nodes. The committed seqno does not fall. */
  set(row: number, set: SyncSet | null): void {
    this.committed[row] = this.seqno(row);
    this.sets[row] = set;
    this.advance(row);
  }

  /** As `set`, for a vbucket that becomes active here: it is unknown which of its writes the members have. */
  begin(row: number, set: SyncSet | null): void {
    this.set(row, set);
    this.committed[row] = 0;
    this.advance(row);
  }

  hasOthers(row: number): boolean {
    const set = this.sets[row];
    return set != null && set.others.length > 0;
  }

  size(row: number): number {
    return this.sets[row]?.size ?? alone;
  }

  /** Whether a set of other nodes' copies is too small; never where there are no other nodes. */
  isBelow(row: number, majority: number): boolean {
    const set = this.sets[row];
    return set != null && set.size < majority;
  }

  /** Everything up to here was received by every member. */
  seqno(row: number): number {
    return (this.hasOthers(row) ? this.committed[row] : this.rows.highSeqno[row]) as number;
  }

  /** A copy reports the seqnos that it has received and persisted. False where that changes nothing for the vbucket. */
  report(row: number, node: string, received: number, persisted: number): boolean {
    const positions = this.positionsOf(node);
    positions.received[row] = Math.max(positions.received[row] as number, received);
    positions.persisted[row] = Math.max(positions.persisted[row] as number, persisted);
    if (!this.sets[row]?.others.includes(node)) return false;
    this.advance(row);
    return true;
  }

  /** Discards what the node has reported: it belongs to an earlier boot, or to a history that the node has left. */
  discard(row: number, node: string): void {
    const positions = this.positionsOf(node);
    positions.received[row] = positions.persisted[row] = 0;
  }

  received(row: number, node: string): number {
    return this.positions.get(node)?.received[row] ?? 0;
  }

  /**
   * Whether this number of members has the vbucket on disk up to `seqno`. The active must be one of them: when all members restart, it
   * becomes active again.
   */
  isPersistedBy(row: number, seqno: number, members: number): boolean {
    if ((this.rows.persistedSeqno[row] as number) < seqno) return false;
    let count = 1;
    for (const node of this.sets[row]?.others ?? [])
      if ((this.positions.get(node)?.persisted[row] ?? 0) >= seqno) count++;
    return count >= members;
  }

  private advance(row: number): void {
    const set = this.sets[row];
    if (!set || set.isFrozen) return;
    let reached = this.rows.highSeqno[row] as number;
    for (const node of set.others) reached = Math.min(reached, this.received(row, node));
    this.committed[row] = Math.max(this.committed[row] as number, reached);
  }

  private positionsOf(node: string): Positions {
    const existing = this.positions.get(node);
    if (existing) return existing;
    const column = (): Float64Array => new Float64Array(this.rows.count);
    const created = { received: column(), persisted: column() };
    this.positions.set(node, created);
    return created;
  }
}

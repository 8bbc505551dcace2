// Applies the changes of a vbucket's active to its copy on this node: versions with the seqno, CAS and revision that the active gave them,
// in the order of their seqnos, by snapshots. It resolves no conflicts: the active has done so. The caller reads the stream.
import { Status } from '#wire/status.ts';
import { CutBits, type CutItem } from '../../data/cut.ts';
import { type DocumentResult, notResident, type WhenFetched } from '../../data/documents.ts';
import { isEventKey } from '../../data/system-events.ts';
import { CopyPhase, VbucketState } from '../../data/vbucket-state.ts';
import type { ClockDrift } from '../../vbucket/clock-drift.ts';
import { draftOfStored } from '../../vbucket/drafts.ts';
import type { EventRecorder } from '../../vbucket/event-recorder.ts';
import { emptyPosition } from '../../vbucket/item-position.ts';
import { emptyDraft } from '../../vbucket/items.ts';
import type { Residency } from '../../vbucket/residency.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import { type DiskReads, FetchedDocuments } from '../fetch/fetched-documents.ts';
import { WriteRoom, type WriteRoomOptions } from './write-room.ts';

export interface ApplierOptions extends WriteRoomOptions {
  vbuckets: Vbuckets;
  residency: Residency;
  events: EventRecorder;
  drift: ClockDrift;
  /** Null in buckets without a disk. */
  reads: DiskReads | null;
  /** Called when a vbucket has a change to write. */
  onDirty: (vb: number) => void;
  /** Called when a client waits until the changes of a vbucket are on disk. */
  onPersistenceAwaited: (vb: number) => void;
}

/** The first and the last seqno of a snapshot of the active. */
export interface Snapshot {
  start: number;
  end: number;
}

export class Applier {
  private readonly options: ApplierOptions;
  private readonly fetched: FetchedDocuments;
  private readonly room: WriteRoom;
  private readonly position = emptyPosition();
  private readonly draft = emptyDraft();

  constructor(options: ApplierOptions) {
    this.options = options;
    this.fetched = new FetchedDocuments(options.vbuckets, options.reads);
    this.room = new WriteRoom(options);
  }

  /** Sets the failover log of the active, in its stored form. It is written to disk with the next change. */
  adoptHistory(vb: number, encoded: Uint8Array): Status {
    if (!this.isCopy(vb)) return Status.notMyVbucket;
    this.options.vbuckets.failovers.decode(vb, encoded);
    return Status.success;
  }

  setPhase(vb: number, phase: CopyPhase): Status {
    if (!this.isCopy(vb)) return Status.notMyVbucket;
    this.options.vbuckets.columns.copy[vb] = phase;
    return Status.success;
  }

  /**
   * Begins the next snapshot, which continues the last one, or moves the end of the one under way; outOfRange where it does not
   * continue what the copy has.
   */
  begin(vb: number, { start, end }: Snapshot): Status {
    if (!this.isCopy(vb)) return Status.notMyVbucket;
    const { columns } = this.options.vbuckets;
    const high = columns.highSeqno[vb] as number;
    const before = columns.snapEnd[vb] as number;
    if (end < start || start !== high + 1) return Status.outOfRange;
    // Files of earlier versions may record the start of a snapshot whose first changes were lost when a process ended.
    if (high >= before || start < (columns.snapStart[vb] as number)) columns.snapStart[vb] = start;
    // A page of rows may end below the end of a snapshot that was announced before: the rows with later seqnos may not be on disk yet.
    columns.snapEnd[vb] = Math.max(before, end);
    return Status.success;
  }

  /**
   * Applies the next version. outOfRange: its seqno is not above the last one, or outside of the snapshot; notResident: call it again
   * after `awaitDisk`; temporaryFailure or outOfMemory: call it again when there is memory.
   */
  apply(vb: number, item: CutItem): DocumentResult {
    if (!this.isCopy(vb)) return Status.notMyVbucket;
    const { vbuckets } = this.options;
    const { columns } = vbuckets;
    const isNext = item.seqno > (columns.highSeqno[vb] as number);
    if (
      !isNext ||
      item.seqno < (columns.snapStart[vb] as number) ||
      item.seqno > (columns.snapEnd[vb] as number)
    )
      return Status.outOfRange;
    this.room.prepare();
    const status = this.locate(vb, item);
    if (status !== Status.success) return status;
    return this.put(vb, item);
  }

  /** All changes of the snapshot up to `seqno` were sent: versions with the other seqnos were replaced by later ones. */
  advance(vb: number, seqno: number): Status {
    if (!this.isCopy(vb)) return Status.notMyVbucket;
    const { recent, columns } = this.options.vbuckets;
    if (seqno > (columns.snapEnd[vb] as number)) return Status.outOfRange;
    if (seqno === columns.snapEnd[vb]) columns.copy[vb] = CopyPhase.following;
    if (seqno <= (columns.highSeqno[vb] as number)) return Status.success;
    recent.skip(vb, seqno + 1);
    columns.highSeqno[vb] = seqno;
    this.options.onDirty(vb);
    return Status.success;
  }

  /** Has the disk write the changes of the vbucket at once. */
  writeSoon(vb: number): void {
    this.options.onPersistenceAwaited(vb);
  }

  awaitDisk(done: WhenFetched): void {
    this.fetched.load(done);
  }

  private isCopy(vb: number): boolean {
    const state = this.options.vbuckets.columns.state[vb];
    return state === VbucketState.replica || state === VbucketState.pending;
  }

  /** Points `position` at the key. What is wholly on disk is loaded first, since counts depend on it. */
  private locate(vb: number, { buffer, keyStart, keyEnd }: CutItem): DocumentResult {
    const { residency, vbuckets } = this.options;
    const hash = vbuckets.hash(buffer, keyStart, keyEnd);
    if (vbuckets.locate(this.position, vb, hash, buffer, keyStart, keyEnd) !== 0) return Status.success;
    if (!residency.mayBeOnDisk(vb, hash, buffer, keyStart, keyEnd)) return Status.success;
    this.fetched.prepareFetch(this.position, buffer, keyStart, keyEnd);
    return notResident;
  }

  private put(vb: number, item: CutItem): Status {
    const { draft, options, position } = this;
    draftOfStored(item, draft);
    const isDeletion = (item.bits & CutBits.deleted) !== 0;
    if (!isDeletion && this.room.isExceededBy(position, draft)) return Status.temporaryFailure;
    if (!options.vbuckets.apply(position, draft, item)) return Status.outOfMemory;
    options.drift.note(item.casHi, item.casLo);
    if (isEventKey(item.buffer, item.keyStart)) options.events.noteApplied(vb, position.hash, item);
    options.onDirty(vb);
    return Status.success;
  }
}

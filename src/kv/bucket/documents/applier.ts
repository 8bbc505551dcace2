// Takes what the active of a vbucket made into a copy of it on this node: versions with their own seqno, CAS and revision, in the order
// of their seqnos, by snapshots. Nothing is weighed: the active has decided. The caller reads the stream.
import { Status } from '#wire/status.ts';
import type { CutItem } from '../../data/cut.ts';
import { CutBits } from '../../data/cut.ts';
import { notResident, type WhenFetched } from '../../data/documents.ts';
import { isEventKey } from '../../data/system-events.ts';
import { type CopyPhase, VbucketState } from '../../data/vbucket-state.ts';
import { draftOfStored } from '../../vbucket/drafts.ts';
import type { EventRecorder } from '../../vbucket/event-recorder.ts';
import { emptyDraft } from '../../vbucket/items.ts';
import type { Residency } from '../../vbucket/residency.ts';
import { emptyPlace, type Vbuckets } from '../../vbucket/vbuckets.ts';
import { type DiskReads, FetchedDocuments } from '../fetch/fetched-documents.ts';
import { WriteRoom, type WriteRoomOptions } from './write-room.ts';

export interface ApplierOptions extends WriteRoomOptions {
  vbuckets: Vbuckets;
  residency: Residency;
  events: EventRecorder;
  /** Null in buckets without a disk. */
  reads: DiskReads | null;
  /** Called when a vbucket has a change to write. */
  onDirty: (row: number) => void;
}

/** A snapshot of the active: both seqnos are in it. */
export interface Snapshot {
  start: number;
  end: number;
}

export class Applier {
  private readonly options: ApplierOptions;
  private readonly fetched: FetchedDocuments;
  private readonly room: WriteRoom;
  private readonly place = emptyPlace();
  private readonly draft = emptyDraft();

  constructor(options: ApplierOptions) {
    this.options = options;
    this.fetched = new FetchedDocuments(options.vbuckets, options.reads);
    this.room = new WriteRoom(options);
  }

  /** The failover log of the active as its rows keep it. It is on disk with the next change. */
  takeHistory(vb: number, encoded: Uint8Array): Status {
    if (!this.isCopy(vb)) return Status.notMyVbucket;
    this.options.vbuckets.failovers.decode(vb, encoded);
    return Status.success;
  }

  setPhase(vb: number, phase: CopyPhase): Status {
    if (!this.isCopy(vb)) return Status.notMyVbucket;
    this.options.vbuckets.rows.copy[vb] = phase;
    return Status.success;
  }

  /** Begins the next snapshot, which continues the last one; outOfRange where it does not. */
  begin(vb: number, { start, end }: Snapshot): Status {
    if (!this.isCopy(vb)) return Status.notMyVbucket;
    const { rows } = this.options.vbuckets;
    const isNext = (rows.highSeqno[vb] as number) >= (rows.snapEnd[vb] as number);
    if (!isNext || end < start || start <= (rows.highSeqno[vb] as number)) return Status.outOfRange;
    rows.snapStart[vb] = start;
    rows.snapEnd[vb] = end;
    return Status.success;
  }

  /**
   * Takes the next version. outOfRange: its seqno is not above the last one, or outside of the snapshot; notResident: call it again
   * after `awaitDisk`; temporaryFailure or outOfMemory: call it again when there is memory.
   */
  apply(vb: number, item: CutItem): Status {
    if (!this.isCopy(vb)) return Status.notMyVbucket;
    const { vbuckets } = this.options;
    const { rows } = vbuckets;
    const isNext = item.seqno > (rows.highSeqno[vb] as number);
    if (!isNext || item.seqno < (rows.snapStart[vb] as number) || item.seqno > (rows.snapEnd[vb] as number))
      return Status.outOfRange;
    this.room.prepare();
    const status = this.look(vb, item);
    if (status !== Status.success) return status;
    return this.put(vb, item);
  }

  /** All changes of the snapshot up to `seqno` were sent: the seqnos without one were replaced. */
  advance(vb: number, seqno: number): Status {
    if (!this.isCopy(vb)) return Status.notMyVbucket;
    const { recent, rows } = this.options.vbuckets;
    if (seqno > (rows.snapEnd[vb] as number)) return Status.outOfRange;
    if (seqno <= (rows.highSeqno[vb] as number)) return Status.success;
    recent.skip(vb, seqno + 1);
    rows.highSeqno[vb] = seqno;
    this.options.onDirty(vb);
    return Status.success;
  }

  awaitDisk(done: WhenFetched): void {
    this.fetched.load(done);
  }

  private isCopy(vb: number): boolean {
    const state = this.options.vbuckets.rows.state[vb];
    return state === VbucketState.replica || state === VbucketState.pending;
  }

  /** Points `place` at the key. What is wholly on disk is loaded first, since counts depend on it. */
  private look(vb: number, { buffer, keyStart, keyEnd }: CutItem): Status {
    const { residency, vbuckets } = this.options;
    const hash = vbuckets.hash(buffer, keyStart, keyEnd);
    if (vbuckets.look(this.place, vb, hash, buffer, keyStart, keyEnd) !== 0) return Status.success;
    if (!residency.mayBeAway(vb, hash, buffer, keyStart, keyEnd)) return Status.success;
    this.fetched.requestFetch(this.place, buffer, keyStart, keyEnd);
    return notResident;
  }

  private put(vb: number, item: CutItem): Status {
    const { draft, options, place } = this;
    draftOfStored(item, draft);
    const isDeletion = (item.bits & CutBits.deleted) !== 0;
    if (!isDeletion && this.room.isExceededBy(place, draft)) return Status.temporaryFailure;
    if (!options.vbuckets.apply(place, draft, item)) return Status.outOfMemory;
    if (isEventKey(item.buffer, item.keyStart)) options.events.noteApplied(vb, place.hash, item);
    options.onDirty(vb);
    return Status.success;
  }
}

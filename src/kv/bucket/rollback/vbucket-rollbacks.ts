// Rolls a copy back to an earlier seqno: replaces its rows above that seqno by the versions that the active has of their keys, on disk in one
// transaction and then in memory.
import { CutReader, type CutState, CutWriter, isDeleted, keyText } from '../../data/cut.ts';
import { type CutBuffer, fileOf } from '../../data/disk-engine.ts';
import { CopyPhase, VbucketState } from '../../data/vbucket-state.ts';
import type { Cutter } from '../../vbucket/cutter.ts';
import type { EventRecorder } from '../../vbucket/event-recorder.ts';
import { emptyPosition } from '../../vbucket/item-position.ts';
import type { LiveCollections } from '../../vbucket/live-collections.ts';
import { Loader } from '../../vbucket/loader.ts';
import type { Residency } from '../../vbucket/residency.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import { wholeSeqno } from '../../vbucket/whole-seqno.ts';
import { readerOf, type Storage } from '../keys/read-rows.ts';
import { type OlderVersions, type OlderVersionsRequest, olderVersions } from './older-versions.ts';
import { type RowAbove, type RowsAbove, rowsAbove } from './rows-above.ts';

export interface VbucketRollbacksOptions {
  vbuckets: Vbuckets;
  collections: LiveCollections;
  residency: Residency;
  events: EventRecorder;
  cutter: Cutter;
  /** Undefined in buckets without a disk. */
  storage: Storage | undefined;
  /** When true, further documents leave their values, or all of themselves, on disk. */
  isFull: () => boolean;
  /** Resolves when the writes of states under way have ended. */
  statesWritten: () => Promise<unknown>;
}

/** What the active has of the keys of the rows that are removed. */
export interface ReplacingVersions {
  /** The failover log of the active, in the stored form. */
  readonly failover: Uint8Array;
  /** The versions at or below the seqno, as cuts; of a key that they have twice, the last one counts. */
  readonly batches: readonly CutBuffer[];
  /**
   * The highest seqno of those keys that the active has changed after the seqno; 0: it has changed none. Until the feed has sent that
   * seqno, the copy lacks keys.
   */
  readonly newest: number;
}

export class VbucketRollbacks {
  private readonly options: VbucketRollbacksOptions;
  private readonly loader: Loader;
  private readonly position = emptyPosition();
  /** The end of the rollback under way: until then disk and memory may differ, and no state of a vbucket is to be written. */
  ended: Promise<unknown> | null = null;

  constructor(options: VbucketRollbacksOptions) {
    this.options = options;
    this.loader = new Loader(options);
  }

  /** See `rowsAbove`. Everything of the vbucket must be on disk. */
  rowsAbove(vb: number, seqno: number, rowsMax: number): Promise<RowsAbove | null> {
    const { collections, storage, vbuckets } = this.options;
    const readRows = storage === undefined ? null : readerOf(storage);
    return rowsAbove({ collections, readRows, vbuckets }, { vb, seqno, rowsMax });
  }

  /** See `olderVersions`. */
  olderVersions(request: OlderVersionsRequest): Promise<OlderVersions> {
    return olderVersions(this.options, request);
  }

  /**
   * False, with nothing changed: the vbucket has changed since its rows were read, or `DiskEngine.rollBack` refuses.
   * @throws Error when the disk does not take the versions, or memory has no room for them: the vbucket must be dropped.
   */
  rollBack(above: RowsAbove, versions: ReplacingVersions): Promise<boolean> {
    const done = this.rollBackAfterStates(above, versions);
    const ended: Promise<void> = done.then(
      () => this.end(ended),
      () => this.end(ended),
    );
    this.ended = ended;
    return done;
  }

  /** Waits for the writes of states under way: otherwise the state before the rollback could reach the disk after it. */
  private async rollBackAfterStates(above: RowsAbove, versions: ReplacingVersions): Promise<boolean> {
    await this.options.statesWritten();
    const { columns } = this.options.vbuckets;
    const { highSeqno, seqno, vb } = above;
    const isCopy = columns.state[vb] !== VbucketState.active;
    const isSame = columns.highSeqno[vb] === highSeqno && columns.persistedSeqno[vb] === highSeqno;
    if (!isCopy || !isSame || (columns.purgeSeqno[vb] as number) > seqno) return false;
    return await this.change(above, versions);
  }

  private end(ended: Promise<unknown>): void {
    if (this.ended === ended) this.ended = null;
  }

  private async change(above: RowsAbove, versions: ReplacingVersions): Promise<boolean> {
    const { disk, files } = this.options.storage as Storage;
    const cut = this.cutOf(above, versions);
    // The memory of the cut may be transferred to another thread.
    const loaded = Uint8Array.from(cut);
    const isDone = await disk.rollBack(files.bucketUuid, fileOf(above.vb, files.fileCount), cut);
    if (isDone) this.changeMemory(above, versions, loaded);
    return isDone;
  }

  private cutOf(above: RowsAbove, { batches, failover, newest }: ReplacingVersions): CutBuffer {
    const writer = new CutWriter();
    const counts = countsOf(above.rows);
    const wanted = new Set(above.rows.map(({ key }) => key.toString('latin1')));
    writer.begin(failover.length);
    for (const batch of batches.toReversed()) {
      const reader = new CutReader(batch);
      while (reader.nextCut())
        while (reader.nextItem()) {
          const { item } = reader;
          if (item.seqno > above.seqno || !wanted.delete(keyText(item))) continue;
          writer.item(item);
          counts[isDeleted(item) ? 'deleted' : 'live']++;
        }
    }
    writer.finish(this.stateAfter(above, { ...counts, failover, newest }));
    return writer.takeAll();
  }

  private stateAfter(
    { seqno, vb }: RowsAbove,
    after: { live: number; deleted: number; failover: Uint8Array; newest: number },
  ): CutState {
    const { columns } = this.options.vbuckets;
    return {
      vb,
      startSeqno: seqno,
      endSeqno: seqno,
      // The next four values never decrease.
      maxCasHi: columns.casHi[vb] as number,
      maxCasLo: columns.casLo[vb] as number,
      maxDeletedRev: columns.maxDeletedRev[vb] as number,
      purgeSeqno: columns.purgeSeqno[vb] as number,
      manifestUid: this.options.cutter.manifestUid,
      items: Math.max(0, (columns.items[vb] as number) + after.live),
      deleted: Math.max(0, (columns.tombstones[vb] as number) + after.deleted),
      ...this.snapshotAfter(vb, seqno, after.newest),
      epoch: columns.epoch[vb] as number,
      copy: CopyPhase.filling,
      failover: after.failover,
    };
  }

  private changeMemory({ rows, seqno, vb }: RowsAbove, versions: ReplacingVersions, cut: CutBuffer): void {
    const { collections, residency, vbuckets } = this.options;
    const { columns } = vbuckets;
    for (const row of rows) this.discard(vb, row);
    collections.lowerSeqnos(vb, seqno);
    this.loader.load(cut);
    const { snapEnd, snapStart } = this.snapshotAfter(vb, seqno, versions.newest);
    columns.highSeqno[vb] = columns.cutSeqno[vb] = columns.persistedSeqno[vb] = seqno;
    columns.snapStart[vb] = snapStart;
    columns.snapEnd[vb] = snapEnd;
    columns.cutWholeSeqno[vb] = wholeSeqno(columns, vb);
    columns.copy[vb] = CopyPhase.filling;
    (columns.clears[vb] as number) += 1;
    vbuckets.failovers.decode(vb, versions.failover);
    vbuckets.recent.restart(vb);
    residency.discardAbsent();
  }

  /**
   * A copy that lacks keys whose versions come later counts as inside of a snapshot that starts at the first seqno: no earlier state of it is whole. A
   * copy that is inside of a snapshot at the seqno stays inside of it.
   */
  private snapshotAfter(vb: number, seqno: number, newest: number): { snapStart: number; snapEnd: number } {
    const { columns } = this.options.vbuckets;
    const [start, end] = [columns.snapStart[vb] as number, columns.snapEnd[vb] as number];
    const isInside = end > (columns.highSeqno[vb] as number) && start <= seqno;
    const snapEnd = Math.max(seqno, newest, isInside ? end : 0);
    return { snapStart: newest > seqno ? 1 : isInside ? start : seqno, snapEnd };
  }

  private discard(vb: number, { isDeleted, key }: RowAbove): void {
    const { position } = this;
    const { collections, vbuckets } = this.options;
    const { columns } = vbuckets;
    const hash = vbuckets.hash(key, 0, key.length);
    if (vbuckets.locate(position, vb, hash, key, 0, key.length) !== 0) vbuckets.discardCounted(position);
    else if (isDeleted) columns.uncountTombstone(vb);
    else {
      (columns.items[vb] as number) -= 1;
      (columns.nonResidentItems[vb] as number) -= 1;
      collections.addItems(collections.countingSlot(key, 0, vb), vb, -1);
    }
  }
}

/** How the removal of the rows changes the counts of the vbucket. */
function countsOf(rows: readonly RowAbove[]): { live: number; deleted: number } {
  const deleted = rows.filter(({ isDeleted }) => isDeleted).length;
  return { live: deleted - rows.length, deleted: -deleted };
}

// Takes a vbucket's dirty items as a cut: the newest version of each key, in seqno order, complete up to its end seqno.

import { type CutItem, type CutState, type CutWriter, emptyCutItem, stateOfVbucket } from '../data/cut.ts';
import { fillCutItem } from './cut-item.ts';
import { unlinkDirty } from './dirty-list.ts';
import type { Vbuckets } from './vbuckets.ts';
import { wholeUpTo } from './whole-seqno.ts';

export class Cutter {
  manifestUid = 0;
  private readonly vbuckets: Vbuckets;
  private readonly item: CutItem;
  private readonly state: CutState;

  constructor(vbuckets: Vbuckets) {
    this.vbuckets = vbuckets;
    this.item = emptyCutItem();
    this.state = stateOfVbucket(0);
  }

  /** Whether the vbucket has changed since its last cut. */
  hasChanges(vb: number): boolean {
    const { columns } = this.vbuckets;
    return (columns.highSeqno[vb] as number) > (columns.cutSeqno[vb] as number);
  }

  /**
   * Writes one cut and returns its end seqno. It may end early once `writer` holds `limitBytes`, though only where no version
   * before the end has been replaced by one after it: otherwise the cut would miss a change that it claims to hold. Without dirty items
   * it carries only the vbucket's state.
   */
  cut(vb: number, writer: CutWriter, limitBytes: number): number {
    const { columns } = this.vbuckets;
    const failover = this.vbuckets.failovers.encode(vb);
    const startSeqno = Math.min((columns.cutSeqno[vb] as number) + 1, columns.highSeqno[vb] as number);
    writer.begin(failover.length);
    const endSeqno = this.cutItems(vb, writer, limitBytes);
    const state = this.stateOf(vb, startSeqno, endSeqno, failover);
    writer.finish(state);
    columns.cutSeqno[vb] = endSeqno;
    columns.cutWholeSeqno[vb] = wholeUpTo(endSeqno, state.snapStart, state.snapEnd);
    return endSeqno;
  }

  /** Writes a cut without items that ends where the one before it did: the vbucket's state as it is now. */
  cutState(vb: number, writer: CutWriter): number {
    const endSeqno = this.vbuckets.columns.cutSeqno[vb] as number;
    const failover = this.vbuckets.failovers.encode(vb);
    writer.begin(failover.length);
    writer.finish(this.stateOf(vb, endSeqno, endSeqno, failover));
    return endSeqno;
  }

  private cutItems(vb: number, writer: CutWriter, limitBytes: number): number {
    const { columns, items } = this.vbuckets;
    let endSeqno = 0;
    for (let address = 0; (address = columns.dirtyHead[vb] as number) !== 0; ) {
      if (writer.bytes >= limitBytes && endSeqno !== 0 && this.mayEndAt(vb, endSeqno)) return endSeqno;
      endSeqno = this.cutItem(address, writer);
      unlinkDirty(columns, items, vb, address);
    }
    columns.dedupeFloor[vb] = 0;
    columns.dedupeCeiling[vb] = 0;
    return columns.highSeqno[vb] as number;
  }

  private mayEndAt(vb: number, seqno: number): boolean {
    const { dedupeFloor, dedupeCeiling } = this.vbuckets.columns;
    if (seqno >= (dedupeCeiling[vb] as number)) return true;
    return seqno < (dedupeFloor[vb] as number);
  }

  private cutItem(address: number, writer: CutWriter): number {
    const { item, vbuckets } = this;
    const { items } = vbuckets;
    fillCutItem(items, address, item);
    writer.item(item);
    return item.seqno;
  }

  private stateOf(vb: number, startSeqno: number, endSeqno: number, failover: Uint8Array): CutState {
    const { columns } = this.vbuckets;
    const { state } = this;
    state.vb = vb;
    state.startSeqno = startSeqno;
    state.endSeqno = endSeqno;
    state.maxCasHi = columns.casHi[vb] as number;
    state.maxCasLo = columns.casLo[vb] as number;
    state.maxDeletedRev = columns.maxDeletedRev[vb] as number;
    state.purgeSeqno = columns.purgeSeqno[vb] as number;
    state.manifestUid = this.manifestUid;
    state.items = columns.items[vb] as number;
    state.deleted = columns.tombstones[vb] as number;
    const isWhole = (columns.snapEnd[vb] as number) <= endSeqno;
    const snapStart = columns.snapStart[vb] as number;
    // The cut may end inside of an earlier snapshot, whose start is no longer known: it began after the snapshots that the last cut had whole.
    const reachesNewestSnapshot = snapStart <= endSeqno + 1;
    const start = reachesNewestSnapshot ? snapStart : (columns.cutWholeSeqno[vb] as number) + 1;
    state.snapStart = isWhole ? endSeqno : start;
    state.snapEnd = isWhole ? endSeqno : (columns.snapEnd[vb] as number);
    state.epoch = columns.epoch[vb] as number;
    state.copy = columns.copy[vb] as number;
    state.failover = failover;
    return state;
  }
}

// Takes a vbucket's dirty items as a cut: the newest version of each key, in seqno order, complete up to its end seqno.

import { type CutItem, type CutState, type CutWriter, emptyCutItem, stateOfVbucket } from '../data/cut.ts';
import { fillCutItem } from './cut-item.ts';
import { unlinkDirty } from './dirty-list.ts';
import type { Vbuckets } from './vbuckets.ts';

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
  hasChanges(row: number): boolean {
    const { rows } = this.vbuckets;
    return (rows.highSeqno[row] as number) > (rows.cutSeqno[row] as number);
  }

  /**
   * Writes one cut and returns its end seqno. It may end early once `writer` holds `limitBytes`, though only where no version
   * before the end has been replaced by one after it: such a cut would miss a change that it claims to hold. Without dirty items
   * it carries only the vbucket's state.
   */
  take(row: number, writer: CutWriter, limitBytes: number): number {
    const { rows } = this.vbuckets;
    const failover = this.vbuckets.failovers.encode(row);
    const startSeqno = Math.min((rows.cutSeqno[row] as number) + 1, rows.highSeqno[row] as number);
    writer.begin(failover.length);
    const endSeqno = this.takeItems(row, writer, limitBytes);
    writer.finish(this.stateOf(row, startSeqno, endSeqno, failover));
    rows.cutSeqno[row] = endSeqno;
    return endSeqno;
  }

  private takeItems(row: number, writer: CutWriter, limitBytes: number): number {
    const { rows, items } = this.vbuckets;
    let endSeqno = 0;
    for (let address = 0; (address = rows.dirtyHead[row] as number) !== 0; ) {
      if (writer.bytes >= limitBytes && endSeqno !== 0 && this.mayEndAt(row, endSeqno)) return endSeqno;
      endSeqno = this.takeItem(address, writer);
      unlinkDirty(rows, items, row, address);
    }
    rows.dedupeFloor[row] = 0;
    rows.dedupeCeiling[row] = 0;
    return rows.highSeqno[row] as number;
  }

  private mayEndAt(row: number, seqno: number): boolean {
    const { dedupeFloor, dedupeCeiling } = this.vbuckets.rows;
    if (seqno >= (dedupeCeiling[row] as number)) return true;
    return seqno < (dedupeFloor[row] as number);
  }

  private takeItem(address: number, writer: CutWriter): number {
    const { item, vbuckets } = this;
    const { items } = vbuckets;
    fillCutItem(items, address, item);
    writer.item(item);
    return item.seqno;
  }

  private stateOf(row: number, startSeqno: number, endSeqno: number, failover: Uint8Array): CutState {
    const { rows } = this.vbuckets;
    const { state } = this;
    state.vb = row;
    state.startSeqno = startSeqno;
    state.endSeqno = endSeqno;
    state.maxCasHi = rows.casHi[row] as number;
    state.maxCasLo = rows.casLo[row] as number;
    state.maxDeletedRev = rows.maxDeletedRev[row] as number;
    state.purgeSeqno = rows.purgeSeqno[row] as number;
    state.manifestUid = this.manifestUid;
    state.items = rows.items[row] as number;
    state.deleted = rows.tombstones[row] as number;
    const isWhole = (rows.snapEnd[row] as number) <= endSeqno;
    state.snapStart = isWhole ? endSeqno : (rows.snapStart[row] as number);
    state.snapEnd = isWhole ? endSeqno : (rows.snapEnd[row] as number);
    state.epoch = rows.epoch[row] as number;
    state.copy = rows.copy[row] as number;
    state.failover = failover;
    return state;
  }
}

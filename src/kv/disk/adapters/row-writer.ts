// Writes encoded cuts into a data file inside the caller's transaction.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { type CutItem, CutReader, type CutState, cutItemBytes, isDeleted } from '#kv/data/cut.ts';
import type { VbucketRecord } from '../../data/disk-engine.ts';
import { metaBytes, writeMeta } from '../row.ts';
import { bigVbFactor, smallValueMax, sql } from '../schema.ts';
import { vbRow } from '../vb-row.ts';
import { NewestVersions } from './newest-versions.ts';

export class RowWriter {
  private readonly db: DatabaseSync;
  private readonly putRow: StatementSync;
  private readonly putBig: StatementSync;
  private readonly dropBig: StatementSync;
  private readonly putVb: StatementSync;
  private readonly meta = Buffer.alloc(metaBytes);
  /** While no value is in `big`, replacing a row need not check for an old value there. */
  private hasBig: boolean;

  /**
   * The purge seqno of each vbucket when the file was opened, below which no state is written: a cut from before a compaction may still
   * have a lower one.
   */
  private readonly purgeSeqnos: Map<number, number>;
  /** The highest seqno of each vbucket in rows and in accepted cuts. */
  private readonly highSeqnos: Map<number, number>;

  constructor(db: DatabaseSync, vbuckets: readonly VbucketRecord[]) {
    this.purgeSeqnos = new Map(vbuckets.map(({ vb, purgeSeqno }) => [vb, purgeSeqno]));
    this.highSeqnos = new Map(vbuckets.map(({ vb, highSeqno }) => [vb, highSeqno]));
    this.db = db;
    this.putRow = db.prepare(sql.putRow);
    this.putBig = db.prepare(sql.putBig);
    this.dropBig = db.prepare(sql.dropBig);
    this.putVb = db.prepare(sql.putVb);
    this.hasBig = Object.values(db.prepare(sql.hasBig).get() ?? {})[0] === 1;
  }

  write(cuts: Uint8Array): void {
    const reader = new CutReader(cuts);
    while (reader.nextCut()) {
      const { state } = reader;
      while (reader.nextItem()) this.writeItem(state.vb, reader.item);
      this.writeState(state);
    }
  }

  /**
   * Writes several batches of cuts, given the oldest first. Leaves out versions of keys and states of vbuckets that a later cut replaces. `vbs`:
   * writes only the cuts of these vbuckets.
   */
  writeAll(batches: readonly Uint8Array[], vbs: ReadonlySet<number> | null = null): void {
    const newest = new NewestVersions(batches);
    let cut = 0;
    for (const batch of batches) {
      const reader = new CutReader(batch);
      while (reader.nextCut()) {
        const { state, item } = reader;
        const isLast = newest.isLastCut(state.vb, cut++);
        if (vbs?.has(state.vb) === false) continue;
        while (reader.nextItem()) if (newest.isNewest(state.vb, item)) this.writeItem(state.vb, item);
        if (isLast) this.writeState(state);
      }
    }
  }

  /**
   * Whether a later `write` of these cuts cannot be refused: they are complete, and each seqno is above all earlier ones of its vbucket.
   * They count as earlier ones from then on.
   */
  accepts(cuts: Uint8Array): boolean {
    const reader = new CutReader(cuts);
    while (reader.nextCut()) {
      const { vb, endSeqno } = reader.state;
      let high = this.highSeqnos.get(vb) ?? 0;
      while (reader.nextItem()) {
        if (reader.item.seqno <= high) return false;
        high = reader.item.seqno;
      }
      this.highSeqnos.set(vb, Math.max(high, endSeqno));
    }
    return true;
  }

  /** Removes all rows of the vbuckets and their states. */
  drop(vbs: readonly number[]): void {
    for (const vb of vbs) this.dropOne(vb);
  }

  private dropOne(vb: number): void {
    this.db.prepare(sql.dropBigs).run(vb, vb);
    for (const text of [sql.dropRows, sql.dropCollections, sql.dropState]) this.db.prepare(text).run(vb);
    this.purgeSeqnos.delete(vb);
    this.highSeqnos.delete(vb);
  }

  /** See `DiskEngine.rollBack`. */
  rollBack(cut: Uint8Array): boolean {
    if (!this.mayRollBack(cut)) return false;
    const reader = new CutReader(cut);
    reader.nextCut();
    const { endSeqno, vb } = reader.state;
    const bigs = [vb * bigVbFactor + endSeqno, (vb + 1) * bigVbFactor] as const;
    this.db.prepare(sql.dropBigsAbove).run(...bigs);
    this.db.prepare(sql.dropRowsAbove).run(vb, endSeqno);
    this.highSeqnos.delete(vb);
    this.write(cut);
    return true;
  }

  /** Whether the database accepts all rows of the cut. A refused row would fail the file. */
  private mayRollBack(cut: Uint8Array): boolean {
    const reader = new CutReader(cut);
    const keyOfSeqno = this.db.prepare(sql.keyOfSeqno);
    const seqnos = new Set<number>();
    if (!reader.nextCut()) return false;
    const { endSeqno, vb } = reader.state;
    if ((this.purgeSeqnos.get(vb) ?? 0) > endSeqno) return false;
    while (reader.nextItem()) {
      const { buffer, keyEnd, keyStart, seqno } = reader.item;
      const holder = keyOfSeqno.get(vb, seqno)?.['key'] as Uint8Array | undefined;
      if (seqno > endSeqno || seqnos.has(seqno)) return false;
      if (holder !== undefined && buffer.compare(holder, 0, holder.length, keyStart, keyEnd) !== 0)
        return false;
      seqnos.add(seqno);
    }
    return !reader.nextCut();
  }

  private writeState(state: CutState): void {
    const { vb, endSeqno } = state;
    state.purgeSeqno = Math.max(state.purgeSeqno, this.purgeSeqnos.get(vb) ?? 0);
    this.putVb.run(...vbRow(state));
    this.highSeqnos.set(vb, Math.max(this.highSeqnos.get(vb) ?? 0, endSeqno));
  }

  private writeItem(vb: number, item: CutItem): void {
    const { buffer, keyStart, valueStart, valueEnd } = item;
    writeMeta(this.meta, item, crc32(buffer.subarray(keyStart - cutItemBytes, valueEnd), vb));
    const key = buffer.subarray(keyStart, item.keyEnd);
    const value = buffer.subarray(valueStart, valueEnd);
    const isBig = value.length > smallValueMax;
    if (this.hasBig) this.dropBig.run(vb, key);
    if (isBig) this.writeBig(vb * bigVbFactor + item.seqno, value);
    const deleted = isDeleted(item);
    this.putRow.run(
      vb,
      key,
      item.seqno,
      deleted ? 0 : item.expiry,
      deleted ? item.expiry : null,
      this.meta,
      isBig ? null : value,
    );
  }

  private writeBig(id: number, value: Uint8Array): void {
    this.putBig.run(id, value);
    this.hasBig = true;
  }
}

// Reads from disk the rows of a vbucket above a seqno: those that a rollback to this seqno removes.
import { type CutItem, CutReader, isDeleted } from '../../data/cut.ts';
import type { BackfillPage } from '../../data/disk-engine.ts';
import { isEventKey } from '../../data/system-events.ts';
import type { LiveCollections } from '../../vbucket/live-collections.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';

export interface RowAbove {
  readonly key: Buffer;
  readonly isDeleted: boolean;
}

export interface RowsAbove {
  readonly vb: number;
  readonly seqno: number;
  /** The high seqno of the vbucket when they were read. */
  readonly highSeqno: number;
  readonly rows: readonly RowAbove[];
}

export interface RowsAboveOptions {
  vbuckets: Vbuckets;
  collections: LiveCollections;
  /** Null in buckets without a disk. */
  readRows: ((vb: number, afterSeqno: number) => Promise<BackfillPage>) | null;
}

/**
 * Null where the removal of the rows would not restore the earlier state: the vbucket has changes that are not on disk or changed meanwhile, tombstones
 * above the seqno were purged, or a collection was created or dropped. Null also for more than `rowsMax` rows.
 */
export async function rowsAbove(
  { collections, readRows, vbuckets }: RowsAboveOptions,
  { rowsMax, seqno, vb }: { vb: number; seqno: number; rowsMax: number },
): Promise<RowsAbove | null> {
  const { highSeqno, persistedSeqno, purgeSeqno } = vbuckets.columns;
  const high = highSeqno[vb] as number;
  if (readRows === null || persistedSeqno[vb] !== high || (purgeSeqno[vb] as number) > seqno) return null;
  const rows: RowAbove[] = [];
  for (let position = seqno; position < high; ) {
    const page = await readRows(vb, position);
    const isUnchanged = page.purgeSeqno <= seqno && page.endSeqno === high && highSeqno[vb] === high;
    if (!isUnchanged || page.toSeqno <= position) return null;
    const reader = new CutReader(page.batch);
    while (reader.nextCut())
      while (reader.nextItem()) {
        if (rows.length === rowsMax || !isCounted(vb, reader.item, collections)) return null;
        rows.push(rowOf(reader.item));
      }
    position = page.toSeqno;
    page.free?.();
  }
  return { vb, seqno, highSeqno: high, rows };
}

/**
 * False for system events and documents of dropped collections: the counts of items do not include them, so removing them by key would
 * make the counts wrong.
 */
const isCounted = (vb: number, { buffer, keyStart }: CutItem, collections: LiveCollections): boolean =>
  !isEventKey(buffer, keyStart) && !collections.isGone(buffer, keyStart, vb);

const rowOf = (item: CutItem): RowAbove => ({
  key: Buffer.from(item.buffer.subarray(item.keyStart, item.keyEnd)),
  isDeleted: isDeleted(item),
});

// Compares the history of a copy with that of its active, by their failover logs: up to which seqno both have had the same changes.
import type { Bucket } from '../bucket/bucket.ts';
import type { FailoverEntry } from '../data/documents.ts';
import { failoverEntryBytes } from '../vbucket/failover-logs.ts';

export interface History {
  /** Newest first. */
  readonly log: readonly FailoverEntry[];
  readonly high: number;
}

export interface CopyHistory extends History {
  /** The snapshot that the copy is receiving; whole where its end is not above the high seqno. */
  readonly snapStart: number;
  readonly snapEnd: number;
}

export const historyOf = ({ changes }: Pick<Bucket, 'changes'>, vb: number): History => ({
  log: changes.failoverLog(vb),
  high: changes.highSeqno(vb),
});

export function decodeLog(base64: string): FailoverEntry[] {
  const bytes = Buffer.from(base64, 'base64');
  return Array.from({ length: Math.floor(bytes.length / failoverEntryBytes) }, (_, index) => {
    const at = index * failoverEntryBytes;
    const seqno = bytes.readUInt32BE(at + 8) * 2 ** 32 + bytes.readUInt32BE(at + 12);
    return { uuidHi: bytes.readUInt32BE(at), uuidLo: bytes.readUInt32BE(at + 4), seqno };
  });
}

/** The seqno up to which the changes have an entry's uuid; the newest entry has no end yet. */
const endOf = (log: readonly FailoverEntry[], index: number): number =>
  index === 0 ? Infinity : (log[index - 1]?.seqno ?? 0);

/** Whether the active has all changes of the copy, and also all changes up to the end of the snapshot that the copy is receiving. */
export function isContinued(
  { log, high, snapEnd }: Omit<CopyHistory, 'snapStart'>,
  active: History,
): boolean {
  const end = Math.max(high, snapEnd);
  if (end === 0) return true;
  // A node that was active in the meantime and changed nothing has an entry of its own without changes.
  const newest = log.find(({ seqno }) => seqno < end);
  if (newest === undefined) return false;
  const index = indexOf(active.log, newest);
  return index >= 0 && end <= Math.min(active.high, endOf(active.log, index));
}

/**
 * The highest seqno at which the copy and its active had the same changes. If the copy has nothing that the active lacks, it is the high seqno
 * of the copy. 0: the copy begins from nothing.
 */
export function branchOf(copy: CopyHistory, active: History): number {
  const at = copy.log.findIndex((entry) => indexOf(active.log, entry) >= 0);
  if (at < 0) return 0;
  const index = indexOf(active.log, copy.log[at] as FailoverEntry);
  const common = Math.min(endOf(copy.log, at), endOf(active.log, index), active.high);
  const branch = Math.min(common, copy.high);
  const isWhole = copy.snapEnd <= copy.high;
  if (isWhole || copy.snapEnd <= common) return branch;
  // Before the snapshot the copy lacked nothing.
  return Math.max(0, Math.min(branch, copy.snapStart - 1));
}

const indexOf = (log: readonly FailoverEntry[], { uuidHi, uuidLo }: FailoverEntry): number =>
  log.findIndex((entry) => entry.uuidHi === uuidHi && entry.uuidLo === uuidLo);

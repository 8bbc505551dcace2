// Compares the history of a client that resumes a stream with the vbucket's, and finds where both diverge.
import type { FailoverEntry } from '../data/documents.ts';

export interface Resumption {
  startSeqno: number;
  uuidHi: number;
  uuidLo: number;
  snapStart: number;
  snapEnd: number;
}

export interface History {
  /** Newest first. */
  failoverLog: readonly FailoverEntry[];
  highSeqno: number;
  /** Tombstones up to here may be purged; 0 when none are, or the client accepts that. */
  purgeSeqno: number;
  /** The uuid must be the vbucket's even when the client starts from zero. */
  strictUuid: boolean;
}

/** The seqno to which the client must roll back, or -1 when it may continue. */
export function rollbackSeqno(client: Resumption, history: History): number {
  const { startSeqno, uuidHi, uuidLo } = client;
  const hasUuid = uuidHi !== 0 || uuidLo !== 0;
  if (startSeqno === 0 && !(history.strictUuid && hasUuid)) return -1;
  const { snapStart, snapEnd } = neededSnapshot(client);
  if (startSeqno !== 0 && startSeqno !== history.purgeSeqno && snapStart < history.purgeSeqno) return 0;
  const upper = endOfSharedHistory(client, history);
  if (upper < 0) return 0;
  if (snapEnd <= upper) return -1;
  return Math.min(upper, snapStart);
}

/** A client with all of its snapshot, or nothing of it, is in a consistent state. */
function neededSnapshot({ startSeqno, snapStart, snapEnd }: Resumption): {
  snapStart: number;
  snapEnd: number;
} {
  if (startSeqno === snapEnd) return { snapStart: startSeqno, snapEnd };
  return { snapStart, snapEnd: startSeqno === snapStart ? startSeqno : snapEnd };
}

/** The seqno up to which the history of the client's uuid is also the vbucket's, or -1 when the vbucket never had this uuid. */
function endOfSharedHistory({ uuidHi, uuidLo }: Resumption, { failoverLog, highSeqno }: History): number {
  const index = failoverLog.findIndex((entry) => entry.uuidHi === uuidHi && entry.uuidLo === uuidLo);
  if (index < 0) return -1;
  return index === 0 ? highSeqno : (failoverLog[index - 1] as FailoverEntry).seqno;
}

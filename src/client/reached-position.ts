// Whether a vbucket still has the changes up to a position that was read earlier.

/** The uuid of a history, and a seqno in it. */
export interface ReachedPosition {
  readonly uuid: bigint;
  readonly seqno: number;
}

export interface FailoverHistory {
  /** The failover log, newest entry first. */
  readonly log: readonly ReachedPosition[];
  /** The seqno of the newest change. */
  readonly high: number;
}

/** A vbucket that has moved to another node has a new history, which begins where the former one ended; one that lost changes begins before them. */
export function stillHolds(reached: ReachedPosition, { log, high }: FailoverHistory): boolean {
  const index = log.findIndex(({ uuid }) => uuid === reached.uuid);
  if (index < 0) return false;
  // An entry of the log ends where the next newer one begins.
  const end = index === 0 ? high : (log[index - 1]?.seqno ?? 0);
  return reached.seqno <= end;
}

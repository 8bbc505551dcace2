// Waits until an index contains the changes that a scan must see.
import { vbucketCount } from '#client/document-key.ts';
import type { Clock } from '#ports/clock.ts';
import { untilAborted } from '#ports/within.ts';
import type { Consistency } from '#sqlpp/datastore/indexes.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { type IndexProgress, unknownSeqno } from '../index-progress.ts';

/** A wait also checks periodically: a dropped index publishes nothing. */
const recheckMs = 500;
/** The shortest interval between requests for a new vector, while an index has another history than the vector. */
const renewPauseMinMs = 100;
/** In place of the seqno of a vbucket that the index has not reached. */
const notReached = -1;
/** The timeout of a wait without `waitMs`. */
const waitMaxMs = 120_000;

export interface Wait {
  readonly consistency: Consistency;
  /** 0: no timeout. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Returns false while the index cannot be scanned; throws if waiting is useless. */
  readonly isOnline: () => boolean;
  readonly progress: () => IndexProgress | undefined;
  /** Calls the listener when the result of `isOnline` or `progress` may have changed. */
  readonly onChange: (listener: () => void) => { stop(): void };
}

/** @throws SqlError 12015 after `waitMs` */
export async function waitFor(wait: Wait): Promise<void> {
  const { signal, clock } = wait;
  const endMs = clock.monotonicMs() + (wait.waitMs === 0 ? waitMaxMs : wait.waitMs);
  let { consistency } = wait;
  let renewedMs = Number.NEGATIVE_INFINITY;
  /** By vbucket the seqno that the index has reached. A vector that was renewed counts for the other vbuckets alone. */
  const reached = new Float64Array(vbucketCount).fill(notReached);
  for (;;) {
    signal.throwIfAborted();
    const progress = wait.progress();
    const commits = progress?.commits ?? 0;
    const isReadable = wait.isOnline() && progress !== undefined;
    // An index that is not online may have removed rows of vbuckets that it had reached.
    if (!isReadable) reached.fill(notReached);
    const compared = isReadable ? compare(consistency, progress, reached) : 'behind';
    if (compared === 'reached') return;
    const nowMs = clock.monotonicMs();
    if (nowMs >= endMs) throw sqlError(12015);
    // Index or vector may be outdated: the index gets the newest history by itself, the vector must be renewed.
    const renew = consistency.kind === 'at' ? consistency.renew : undefined;
    const hasOtherHistory = compared === 'other history';
    if (hasOtherHistory && renew !== undefined && nowMs - renewedMs >= renewPauseMinMs) {
      renewedMs = nowMs;
      consistency = await untilAborted(signal, renew());
      continue;
    }
    const pauseMs = Math.min(endMs - nowMs, hasOtherHistory ? renewPauseMinMs : recheckMs);
    await untilChanged(wait, progress?.changed(commits, pauseMs) ?? clock.sleep(pauseMs));
  }
}

/** Adds to `reached` the vbuckets that the index has reached, and removes those that it must reach again. */
function compare(
  consistency: Consistency,
  progress: IndexProgress,
  reached: Float64Array,
): 'reached' | 'behind' | 'other history' {
  if (consistency.kind === 'not_bounded') return 'reached';
  let isBehind = false;
  let hasOtherHistory = false;
  for (const [vb, wanted] of consistency.vector) {
    const { completeSeqno, uuid } = progress.position(vb);
    if (isStillReached(reached[vb] as number, completeSeqno)) continue;
    const isOther = wanted.uuid !== 0n && wanted.uuid !== uuid;
    const isReached = !isOther && completeSeqno >= wanted.seqno;
    reached[vb] = isReached ? wanted.seqno : notReached;
    hasOtherHistory ||= isOther;
    isBehind ||= !isReached;
  }
  return hasOtherHistory ? 'other history' : isBehind ? 'behind' : 'reached';
}

/**
 * Whether the index still has the changes up to a seqno that it had reached: not after a rollback, which removes rows. While the index's position is
 * unknown, as while a vbucket moves, the index keeps the rows that it had.
 */
const isStillReached = (seqno: number, completeSeqno: number): boolean =>
  seqno !== notReached && (completeSeqno === unknownSeqno || completeSeqno >= seqno);

/** Positions are published in shared memory, states arrive in messages; either may come first. */
async function untilChanged({ signal, onChange }: Wait, published: Promise<void>): Promise<void> {
  const changed = Promise.withResolvers<void>();
  const listening = onChange(changed.resolve);
  try {
    await untilAborted(signal, Promise.race([published, changed.promise]));
  } finally {
    listening.stop();
  }
}

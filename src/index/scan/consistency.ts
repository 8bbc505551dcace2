// Waits until an index contains the changes that a scan must see.
import type { Clock } from '#ports/clock.ts';
import { untilAborted } from '#ports/within.ts';
import type { Consistency } from '#sqlpp/datastore/indexes.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { IndexProgress } from '../shared/index-progress.ts';

/** A wait also checks periodically: a dropped index publishes nothing. */
const recheckMs = 500;
/** The shortest interval between requests for a new vector, while an index has another history than the vector. */
const renewMs = 100;
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
  /** The vbuckets that the index has not reached; null: none is known to be reached. A vector that was renewed counts for these alone. */
  let left: ReadonlySet<number> | null = null;
  for (;;) {
    signal.throwIfAborted();
    const progress = wait.progress();
    const commits = progress?.commits ?? 0;
    const isReadable = wait.isOnline() && progress !== undefined;
    // An index that is not online may have removed rows of vbuckets that it had reached.
    const compared: Compared = isReadable ? compare(consistency, progress, left) : allBehind;
    if (compared.left?.size === 0) return;
    left = compared.left;
    const nowMs = clock.monotonicMs();
    if (nowMs >= endMs) throw sqlError(12015);
    // Index or vector may be outdated: the index gets the newest history by itself, the vector must be renewed.
    const renew = consistency.kind === 'at' ? consistency.renew : undefined;
    const { hasOtherHistory } = compared;
    if (hasOtherHistory && renew !== undefined && nowMs - renewedMs >= renewMs) {
      renewedMs = nowMs;
      consistency = await untilAborted(signal, renew());
      continue;
    }
    const pauseMs = Math.min(endMs - nowMs, hasOtherHistory ? renewMs : recheckMs);
    await untilChanged(wait, progress?.changed(commits, pauseMs) ?? clock.sleep(pauseMs));
  }
}

interface Compared {
  /** The vbuckets that the index has not reached; null: all. */
  readonly left: ReadonlySet<number> | null;
  readonly hasOtherHistory: boolean;
}

const allBehind: Compared = { left: null, hasOtherHistory: false };
const allReached: Compared = { left: new Set(), hasOtherHistory: false };

/** Compares the vbuckets of `among`; null: all of the vector. */
function compare(
  consistency: Consistency,
  progress: IndexProgress,
  among: ReadonlySet<number> | null,
): Compared {
  if (consistency.kind === 'not_bounded') return allReached;
  const left = new Set<number>();
  let hasOtherHistory = false;
  for (const [vb, wanted] of consistency.vector) {
    if (among?.has(vb) === false) continue;
    const { completeSeqno, uuid } = progress.position(vb);
    const isOther = wanted.uuid !== 0n && wanted.uuid !== uuid;
    hasOtherHistory ||= isOther;
    if (isOther || completeSeqno < wanted.seqno) left.add(vb);
  }
  return { left, hasOtherHistory };
}

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

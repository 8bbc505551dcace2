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
  for (;;) {
    signal.throwIfAborted();
    const progress = wait.progress();
    const commits = progress?.commits ?? 0;
    const reached = wait.isOnline() && progress !== undefined ? compare(consistency, progress) : 'behind';
    if (reached === 'reached') return;
    const nowMs = clock.monotonicMs();
    if (nowMs >= endMs) throw sqlError(12015);
    // Index or vector may be outdated: the index gets the newest history by itself, the vector must be renewed.
    const renew = consistency.kind === 'at' ? consistency.renew : undefined;
    if (reached === 'other history' && renew !== undefined && nowMs - renewedMs >= renewMs) {
      renewedMs = nowMs;
      consistency = await untilAborted(signal, renew());
      continue;
    }
    const pauseMs = Math.min(endMs - nowMs, reached === 'other history' ? renewMs : recheckMs);
    await untilChanged(wait, progress?.changed(commits, pauseMs) ?? clock.sleep(pauseMs));
  }
}

function compare(consistency: Consistency, progress: IndexProgress): 'reached' | 'behind' | 'other history' {
  if (consistency.kind === 'not_bounded') return 'reached';
  let isBehind = false;
  for (const [vb, wanted] of consistency.vector) {
    const { completeSeqno, uuid } = progress.position(vb);
    if (wanted.uuid !== 0n && wanted.uuid !== uuid) return 'other history';
    isBehind ||= completeSeqno < wanted.seqno;
  }
  return isBehind ? 'behind' : 'reached';
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

// Waiting until an index has what a scan must see.
import type { Clock } from '#ports/clock.ts';
import type { Consistency } from '#sqlpp/datastore/indexes.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { IndexProgress } from '../shared/index-progress.ts';

/** A wait looks again now and then though nothing was published: the index may be gone. */
const lookAgainMs = 500;

export interface Wait {
  readonly consistency: Consistency;
  /** 0: no end of its own. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Throws when there is nothing to wait for any more. Answers false while the index cannot be scanned. */
  readonly isOnline: () => boolean;
  readonly progress: () => IndexProgress | undefined;
}

/** @throws SqlError 12015 after `waitMs` */
export async function waitFor(wait: Wait): Promise<void> {
  const { consistency, waitMs, signal, clock } = wait;
  const startedMs = clock.monotonicMs();
  for (;;) {
    signal.throwIfAborted();
    const progress = wait.progress();
    const commits = progress?.commits ?? 0;
    if (wait.isOnline() && progress !== undefined && isSatisfied(consistency, progress)) return;
    const leftMs = waitMs === 0 ? lookAgainMs : waitMs - (clock.monotonicMs() - startedMs);
    if (leftMs <= 0) throw sqlError(12015);
    const pauseMs = Math.min(leftMs, lookAgainMs);
    await untilAborted(signal, progress?.changed(commits, pauseMs) ?? clock.sleep(pauseMs));
  }
}

function isSatisfied(consistency: Consistency, progress: IndexProgress): boolean {
  if (consistency.kind === 'not_bounded') return true;
  for (const [vb, { seqno, uuid }] of consistency.vector) {
    if (progress.completeSeqno(vb) < seqno) return false;
    if (uuid !== 0n && progress.uuid(vb) !== uuid) return false;
  }
  return true;
}

async function untilAborted(signal: AbortSignal, pause: Promise<void>): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([pause, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

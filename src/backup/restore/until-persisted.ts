// Waits until the changes of a bucket are on disk, as long as their number decreases.
import type { Clock } from '#ports/clock.ts';
import { BackupError } from '../format/backup-error.ts';

/** The pause before the next poll. A poll reads the seqnos of all vbuckets from every node, so a long wait is polled less often. */
const pollMs = (waitedMs: number): number => (waitedMs < 100 ? 10 : waitedMs < 1_000 ? 100 : 1_000);
/** Longer than a slow disk needs for one commit. */
const stuckAfterMs = 60_000;

/** `unpersisted` resolves with the number of changes that are left. @throws BackupError after a minute without progress */
export async function untilPersisted(
  bucket: string,
  unpersisted: () => Promise<number>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  const startedMs = clock.monotonicMs();
  let progressedMs = startedMs;
  for (;;) {
    const left = await unpersisted();
    if (left === 0) return;
    const nowMs = clock.monotonicMs();
    if (left < least) [least, progressedMs] = [left, nowMs];
    else if (nowMs - progressedMs >= stuckAfterMs)
      throw new BackupError(
        `bucket "${bucket}" has written nothing to disk for ${stuckAfterMs / 1_000} s: ${left} changes are in its memory only`,
      );
    await clock.sleep(pollMs(nowMs - startedMs), signal);
  }
}

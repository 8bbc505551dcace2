// Waits until the changes of a bucket are on disk, as long as their number decreases.
import type { Clock } from '#ports/clock.ts';
import { ArchiveError } from '../format/archive-error.ts';

const pollMs = 10;
/** Longer than a slow disk needs for one commit. */
const stuckMs = 60_000;

/** `unpersisted` resolves with the number of changes that are left. @throws ArchiveError after a minute without progress */
export async function untilPersisted(
  bucket: string,
  unpersisted: () => Promise<number>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  let progressedMs = clock.monotonicMs();
  for (;;) {
    const left = await unpersisted();
    if (left === 0) return;
    const nowMs = clock.monotonicMs();
    if (left < least) [least, progressedMs] = [left, nowMs];
    else if (nowMs - progressedMs >= stuckMs)
      throw new ArchiveError(
        `bucket "${bucket}" has written nothing to disk for ${stuckMs / 1_000} s: ${left} changes are in its memory only`,
      );
    await clock.sleep(pollMs, signal);
  }
}

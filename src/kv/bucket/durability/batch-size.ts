// How many bytes of changes one commit of a file writes.

/** Commits of all buckets share the disk, one after the other: a bucket with longer ones gets a larger share. */
const targetCommitMs = { low: 50, high: 100 } as const;
export const firstBatchBytes = 1024 * 1024;
const batchBytesMin = 64 * 1024;
export const batchBytesMax = 4 * 1024 * 1024;

/**
 * Adapts the batch size towards commits of the target time. `tookMs`: without the wait for commits of other files, which smaller batches would make
 * longer: each of them has its own sync.
 */
export function adaptBatchSize(
  file: { batchBytes: number },
  bytes: number,
  tookMs: number,
  priority: keyof typeof targetCommitMs,
): void {
  const targetMs = targetCommitMs[priority];
  if (tookMs > targetMs) file.batchBytes = Math.max(batchBytesMin, (file.batchBytes * targetMs) / tookMs);
  else if (bytes >= file.batchBytes) file.batchBytes = Math.min(batchBytesMax, file.batchBytes * 1.5);
}

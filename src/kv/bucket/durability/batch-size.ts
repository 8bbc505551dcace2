// How many bytes of changes one commit of a file writes.

/** Commits of all buckets take turns on the disk: longer ones are a larger share of it. */
const targetCommitMs = { low: 50, high: 100 } as const;
export const firstBatch = 1024 * 1024;
const smallestBatch = 64 * 1024;
export const largestBatch = 4 * 1024 * 1024;

/** Adapts the batch size towards commits of the target time. */
export function adapt(
  file: { batchBytes: number },
  bytes: number,
  tookMs: number,
  priority: keyof typeof targetCommitMs,
): void {
  const targetMs = targetCommitMs[priority];
  if (tookMs > targetMs) file.batchBytes = Math.max(smallestBatch, (file.batchBytes * targetMs) / tookMs);
  else if (bytes >= file.batchBytes) file.batchBytes = Math.min(largestBatch, file.batchBytes * 1.5);
}

// Writes all that a bucket has only in memory, before its engine is replaced.
import type { Flusher } from './durability/flusher.ts';

/** Resolves with whether the disk took all of it; commits go on afterwards. `flusher`: null where there is no disk. */
export async function writeAll(
  bucket: { writeStates(vbs: readonly number[]): Promise<readonly number[]> },
  flusher: Flusher | null,
  vbs: readonly number[],
): Promise<boolean> {
  await flusher?.pause();
  await flusher?.drain();
  const written = await bucket.writeStates(vbs);
  flusher?.resume();
  return written.length === vbs.length;
}

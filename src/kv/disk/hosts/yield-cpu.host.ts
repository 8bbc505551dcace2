// Lowers the scheduling priority of a thread.
import { setPriority } from 'node:os';

const lowPriority = 10;

/** Applies to the calling thread. Except on Linux it would affect the whole process, so it does nothing there. */
export function yieldCpu(): void {
  if (process.platform === 'linux') setPriority(lowPriority);
}

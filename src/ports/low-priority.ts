// The priority of threads whose work has time: those of clients come first.
import { getPriority, setPriority } from 'node:os';

const lowPriority = 10;

/**
 * Lowers the priority of the calling thread, unless that of the process is as low: to raise it is refused to all but administrators.
 * Except on Linux it would affect the whole process, so it does nothing there.
 */
export function lowerPriority(): void {
  if (process.platform === 'linux' && getPriority() < lowPriority) setPriority(lowPriority);
}

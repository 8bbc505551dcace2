// The priority of threads whose work can wait for that of clients.
import { getPriority, setPriority } from 'node:os';

const lowPriority = 10;

/**
 * Lowers the priority of the calling thread. A process that was started with this priority or a lower one keeps it, because only
 * administrators may raise a priority. On systems other than Linux it does nothing, because it would affect the whole process.
 */
export function lowerPriority(): void {
  if (process.platform === 'linux' && getPriority() < lowPriority) setPriority(lowPriority);
}

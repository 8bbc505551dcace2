// Lets every other thread go first where cores are short.
import { setPriority } from 'node:os';

const lowPriority = 10;

/** For the calling thread. Elsewhere than on Linux the whole process would be meant: there nothing changes. */
export function yieldCpu(): void {
  if (process.platform === 'linux') setPriority(lowPriority);
}

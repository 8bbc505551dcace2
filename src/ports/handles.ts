// File handles of the process: sockets and files share them, and a process without one can neither accept nor open. Each kind
// has its share, so that clients of the data ports leave some for files and for administrators.
import { readFileSync } from 'node:fs';

export interface HandleShares {
  /** Connections of the data ports, and of the REST ports. The rest is for files and for the process itself. */
  data: number;
  rest: number;
}

/** Of a system that does not tell. */
const usualLimit = 10_240;
const restMax = 8_192;
const filesMax = 2_048;
/** A process lives with so few only on a system that is set up to be small. */
const least = 16;

export function handleShares(limit: number = handleLimit()): HandleShares {
  const rest = Math.min(restMax, Math.max(least, Math.floor(limit / 8)));
  const files = Math.min(filesMax, Math.floor(limit / 4));
  return { data: Math.max(least, limit - files - rest), rest };
}

/** The runtime raises its limit at the start as far as it may. */
function handleLimit(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined || soft === 'unlimited' ? 2 ** 20 : Number(soft);
  } catch {
    return usualLimit;
  }
}

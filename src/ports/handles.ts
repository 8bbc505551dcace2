// File handles of the process. Sockets and files share them, and without a free one the process can neither accept nor open. Each
// kind has a share, so that clients of the data ports leave some for files and for administrators.
import { readFileSync } from 'node:fs';

export interface HandleShares {
  /** Maximum connections of the data ports. */
  data: number;
  /** Maximum connections of the REST ports. What is left of the handles is for files. */
  rest: number;
}

/** The number of handles assumed on a system that does not report its limit. */
const usualLimit = 10_240;
const restMax = 8_192;
const filesMax = 2_048;
/** The smallest share of a kind of port; only a limit below 128 handles makes a share so small. */
const leastShare = 16;

export function handleShares(limit: number = handleLimit()): HandleShares {
  const rest = Math.min(restMax, Math.max(leastShare, Math.floor(limit / 8)));
  const files = Math.min(filesMax, Math.floor(limit / 4));
  return { data: Math.max(leastShare, limit - files - rest), rest };
}

/** The soft limit, which Node raises to the hard limit at its start. */
function handleLimit(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined || soft === 'unlimited' ? 2 ** 20 : Number(soft);
  } catch {
    return usualLimit;
  }
}

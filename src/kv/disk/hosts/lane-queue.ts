// The order of a disk lane's requests: as they were made, except that a small commit comes before larger ones, since clients may wait for the commit of
// a shard's epoch. Commits that wait at the same time are of different files, since a file has one commit at a time.
import type { LaneRequest } from './messages.ts';

/** Only a larger commit is overtaken: it takes tens of milliseconds. */
const largeBytes = 128 * 1024;
/** The most commits that overtake another one. */
const overtakenMax = 8;

let overtaken = 0;

/** Removes the next request from the queue; undefined: it is empty. */
export function takeNext(queue: LaneRequest[]): LaneRequest | undefined {
  const first = queue[0];
  const at = first !== undefined && overtaken < overtakenMax && isLarge(first) ? firstSmall(queue) : 0;
  overtaken = at === 0 ? 0 : overtaken + 1;
  return queue.splice(at, 1)[0];
}

/** The first small commit behind large ones alone; 0: there is none. */
function firstSmall(queue: readonly LaneRequest[]): number {
  const at = queue.findIndex((request) => !isLarge(request));
  return at > 0 && queue[at]?.operation === 'commit' ? at : 0;
}

const isLarge = ({ args, operation }: LaneRequest): boolean =>
  operation === 'commit' && (args[2] as Uint8Array).byteLength > largeBytes;

// Space that a node keeps for its own next start, and for changes that let space be freed: on a disk that others have
// filled up it could not even take its lock, and nobody could delete a bucket. What is given up is taken again once there is room.
import { closeSync, fsyncSync, openSync, statfsSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Timer } from '#ports/clock.ts';
import type { SpareRoom } from '#ports/spare-room.ts';

const reserveBytes = 8 * 1024 * 1024;
/** The reserve is not made of what others need: on a small disk it is smaller. */
const shareOfFree = 1 / 4;
const chunkBytes = 64 * 1024;
/** A start leaves this to changes; what it does not need itself is others' at once. */
const leftByStartBytes = 1024 * 1024;
/** Of a change of the configuration, which takes a few pages. The rest is for when others were faster. */
const pieceBytes = 2 * chunkBytes;
const retryMs = 2_000;

export class DiskReserve implements SpareRoom {
  readonly #folder: string;
  readonly #path: string;
  readonly #clock: Clock;
  #retry: Timer | null = null;
  #isStopped = false;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#path = join(folder, 'reserve');
    this.#clock = clock;
  }

  /** Before anything is written: the folder may not be there yet. */
  useForStart(): void {
    const bytes = this.#bytes();
    if (bytes === 0 || this.#freeBytes() >= reserveBytes) return;
    // So that node after node that is killed on a full disk finds something.
    truncateSync(this.#path, bytes > leftByStartBytes ? leftByStartBytes : Math.floor(bytes / 2));
  }

  /** Once the node serves. A disk that fills up just now, or a folder that was moved away, is no reason to fail. */
  keep(): void {
    try {
      this.#grow();
      if (this.#bytes() >= reserveBytes) return;
    } catch {
      // There is another try.
    }
    this.#keepLater();
  }

  giveUp(): boolean {
    const bytes = this.#bytes();
    if (bytes === 0) return false;
    truncateSync(this.#path, Math.max(bytes - pieceBytes, 0));
    this.#keepLater();
    return true;
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
  }

  #keepLater(): void {
    this.#retry?.cancel();
    if (!this.#isStopped) this.#retry = this.#clock.after(retryMs, () => this.keep());
  }

  #grow(): void {
    const present = this.#bytes();
    const wanted = Math.min(reserveBytes, (present + this.#freeBytes()) * shareOfFree);
    const chunks = Math.floor((wanted - present) / chunkBytes);
    if (chunks <= 0) return;
    try {
      append(this.#path, chunks);
    } catch (error) {
      truncateSync(this.#path, present);
      throw error;
    }
  }

  #bytes(): number {
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#folder);
    return bavail * bsize;
  }
}

function append(path: string, chunks: number): void {
  const descriptor = openSync(path, 'a', 0o600);
  try {
    const chunk = Buffer.alloc(chunkBytes);
    for (let left = chunks * chunkBytes; left > 0; )
      left -= writeSync(descriptor, chunk, 0, Math.min(left, chunkBytes));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

// A file that reserves disk space for the next start of the process and for changes that free space. On a disk that other processes
// filled, this one could otherwise not lock its folder, and administrators could not delete a bucket. Released space is reserved
// again later.
import { closeSync, fsyncSync, openSync, statfsSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Timer } from '#ports/clock.ts';
import type { DiskReserve } from '#ports/disk-reserve.ts';
import { StartError } from './start-error.ts';

const reserveBytes = 8 * 1024 * 1024;
/** The largest share of the free space that the reserve may take. */
const shareOfFree = 1 / 4;
const chunkBytes = 64 * 1024;
/** What a start on a full disk leaves reserved. */
const leftByStartBytes = 1024 * 1024;
/** Released for each change. A change of the configuration needs a few pages; other processes may write before it. */
const pieceBytes = 2 * chunkBytes;
const retryPauseMs = 2_000;

export class DiskReserveFile implements DiskReserve {
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

  /** Call before the start writes anything. The folder may be absent. Throws if another thing than a file has the name of the reserve. */
  useForStart(): void {
    if (statSync(this.#path, { throwIfNoEntry: false })?.isFile() === false)
      throw new StartError(
        `cannot reserve disk space in ${this.#path}: it is not a file; rename it, or remove it if it is empty`,
      );
    const bytes = this.#bytes();
    if (bytes === 0 || this.#freeBytes() >= reserveBytes) return;
    // Never releases all: a start that is killed on a full disk must leave some for the next one.
    truncateSync(this.#path, bytes > leftByStartBytes ? leftByStartBytes : Math.floor(bytes / 2));
  }

  /** Reserves as much as is missing, now or later. Call when the process serves. A full disk or a moved folder is no error here. */
  refill(): void {
    try {
      this.#grow();
      if (this.#bytes() >= reserveBytes) return;
    } catch {
      // Retried below.
    }
    this.#refillLater();
  }

  release(): boolean {
    const bytes = this.#bytes();
    if (bytes === 0) return false;
    truncateSync(this.#path, Math.max(bytes - pieceBytes, 0));
    this.#refillLater();
    return true;
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
  }

  #refillLater(): void {
    this.#retry?.cancel();
    if (!this.#isStopped) this.#retry = this.#clock.after(retryPauseMs, () => this.refill());
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

  /** 0 if another thing than a file took the name meanwhile: its size is no reserve. */
  #bytes(): number {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    return found?.isFile() ? found.size : 0;
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

// Expires documents that no client accesses: at an interval it walks through all of memory in slices and, where documents may be on disk
// only, lists the expired ones there.
import type { Clock, Timer } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import type { DocumentKey } from '../../data/document-keys.ts';
import type { DocumentResult } from '../../data/documents.ts';
import type { Expirer } from '../../vbucket/expirer.ts';

export const expiryPagerSecondsDefault = 600;

/** Items visited in a slice, and the pause after it. */
const sliceSteps = 2000;
const slicePauseMs = 1;
/** Keys read from a file at once, and the time for the disk to remove them. */
const expiredKeysMax = 2000;
const diskPauseMs = 500;

export interface ExpiryPagerOptions {
  clock: Clock;
  expirer: Expirer;
  seconds: number;
  /** Reads the clock before a slice of work. */
  tick: () => void;
  /** Looks the document up, which expires it, once it is in memory; calls back afterwards. */
  visit: (vb: number, key: Buffer, done: (result: DocumentResult) => void) => void;
  /** The key of an item in memory by its address, as `visit` takes it. */
  keyAt: (address: number) => DocumentKey;
  /** Expired documents on disk, file by file; null where every document is in memory. */
  disk: { fileCount: number; expiredKeys: (file: number, limit: number) => Promise<DocumentKey[]> } | null;
}

export class ExpiryPager {
  private readonly options: ExpiryPagerOptions;
  private seconds: number;
  private timer: Timer | null = null;
  private isStopped = true;

  constructor(options: ExpiryPagerOptions) {
    this.options = options;
    this.seconds = options.seconds;
  }

  start(): void {
    this.isStopped = false;
    this.scheduleWalk();
  }

  stop(): void {
    this.isStopped = true;
    this.timer?.cancel();
  }

  /** Sets the interval; the next walk begins one interval from now. */
  every(seconds: number): void {
    if (seconds === this.seconds) return;
    this.seconds = seconds;
    if (!this.isStopped) this.scheduleWalk();
  }

  private scheduleWalk(): void {
    this.schedule(this.seconds * 1000, () => {
      this.options.expirer.begin();
      this.slice();
    });
  }

  private schedule(delayMs: number, act: () => void): void {
    this.timer?.cancel();
    this.timer = this.options.clock.after(delayMs, () => {
      if (this.isStopped) return;
      this.options.tick();
      act();
    });
  }

  private slice(): void {
    const { expirer, keyAt } = this.options;
    const keysToFetch: DocumentKey[] = [];
    const isMore = expirer.slice(sliceSteps, (address) => void keysToFetch.push(keyAt(address)));
    for (const key of keysToFetch) void this.visit(key);
    if (isMore) this.schedule(slicePauseMs, () => this.slice());
    else void this.pageDisk(0);
  }

  private visit({ vb, key }: DocumentKey): Promise<DocumentResult> {
    return new Promise((resolve) => this.options.visit(vb, Buffer.from(key), resolve));
  }

  /** Reads a file again that returned as many keys as it may, after the pause in which the disk removes these keys. */
  private async pageDisk(file: number): Promise<void> {
    const { disk } = this.options;
    if (disk === null || file === disk.fileCount) {
      this.scheduleWalk();
      return;
    }
    const keys = await disk.expiredKeys(file, expiredKeysMax).catch(() => []);
    if (this.isStopped) return;
    this.options.tick();
    const results = await Promise.all(keys.map((key) => this.visit(key)));
    const isProgress = results.some((result) => result === Status.success || result === Status.keyNotFound);
    if (this.isStopped) return;
    const next = keys.length === expiredKeysMax && isProgress ? file : file + 1;
    this.schedule(diskPauseMs, () => void this.pageDisk(next));
  }
}

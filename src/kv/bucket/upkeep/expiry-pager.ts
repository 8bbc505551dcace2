// Expires documents that no client accesses: at an interval it walks through all of memory in slices and, where documents may be on disk
// only, lists the expired ones there.
import type { Clock, Timer } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import type { ExpiredKey } from '../../data/disk-engine.ts';
import type { DocumentKey } from '../../data/document-keys.ts';
import type { DocumentResult } from '../../data/documents.ts';
import type { Expirer } from '../../vbucket/expirer.ts';

export const expiryPagerSecondsDefault = 600;

/** Items visited in a slice, and the pause after it. */
const sliceSteps = 2000;
const slicePauseMs = 1;
/** Keys read from a file at once, and the pause after them: shorter if all of them are of copies, which only their actives expire. */
const expiredKeysMax = 2000;
const diskPauseMs = { own: 500, copies: 20 } as const;

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
  /** False where another node expires the documents of the vbucket. */
  expiresHere: (vb: number) => boolean;
  /** Expired documents on disk, file by file; null where every document is in memory. */
  disk: {
    fileCount: number;
    expiredKeys: (file: number, page: { after: ExpiredKey | null; limit: number }) => Promise<ExpiredKey[]>;
  } | null;
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

  private schedule(delayMs: number, callback: () => void): void {
    this.timer?.cancel();
    this.timer = this.options.clock.after(delayMs, () => {
      if (this.isStopped) return;
      this.options.tick();
      callback();
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

  /** Reads the expired keys of a file page by page. A page is read again if documents of it are left, and others were expired. */
  private async pageDisk(file: number, after: ExpiredKey | null = null): Promise<void> {
    const { disk, expiresHere } = this.options;
    if (disk === null || file === disk.fileCount) {
      this.scheduleWalk();
      return;
    }
    const page = await disk.expiredKeys(file, { after, limit: expiredKeysMax }).catch(() => []);
    if (this.isStopped) return;
    this.options.tick();
    const own = page.filter(({ vb }) => expiresHere(vb));
    const isIncomplete = await this.visitAll(own);
    if (this.isStopped) return;
    const last = page.length === expiredKeysMax ? (page.at(-1) ?? null) : null;
    this.schedule(own.length > 0 ? diskPauseMs.own : diskPauseMs.copies, () => {
      if (isIncomplete) void this.pageDisk(file, after);
      else void this.pageDisk(last === null ? file + 1 : file, last);
    });
  }

  /** Returns whether documents are left, for which memory had no room for example, and others were expired meanwhile. */
  private async visitAll(keys: readonly DocumentKey[]): Promise<boolean> {
    const { expirer } = this.options;
    const before = expirer.expired;
    const results = await Promise.all(keys.map((key) => this.visit(key)));
    const isLeft = results.some((result) => result !== Status.success && result !== Status.keyNotFound);
    return isLeft && expirer.expired > before;
  }
}

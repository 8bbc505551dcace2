// Makes filters of the keys on disk anew. A filter cannot forget keys: where documents come and go it would grow for ever with keys that the disk has no
// longer. The rows of the vbucket are read, one vbucket after the other.
import type { Clock, Timer } from '#ports/clock.ts';
import { CutReader } from '../../data/cut.ts';
import type { BackfillPage } from '../../data/disk-engine.ts';
import { emptyPosition } from '../../vbucket/item-position.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';

export const filterCheckMs = 600_000;
/** A filter is made anew once it has this many times as many keys as its vbucket has rows, and some more: until then it costs little. */
const excess = 4;
const spareKeys = 1_000;
/** The keys of a page take about a millisecond. The pause after it leaves most of the disk to clients. */
const pageBytes = 128 * 1024;
const pauseMs = 40;

export interface KeyFilterRebuildOptions {
  vbuckets: Vbuckets;
  clock: Clock;
  readRows: (vb: number, afterSeqno: number, targetBytes?: number) => Promise<BackfillPage>;
}

export class KeyFilterRebuild {
  private readonly options: KeyFilterRebuildOptions;
  private readonly position = emptyPosition();
  /** By vbucket: keys of its filter after the last rebuild. Rows that the counts of the vbucket leave out are among them, as of dropped collections. */
  private readonly kept: Uint32Array;
  private timer: Timer | null = null;
  /** Raised at each start and stop: what an earlier run still reads is ignored. */
  private run = 0;

  constructor(options: KeyFilterRebuildOptions) {
    this.options = options;
    this.kept = new Uint32Array(options.vbuckets.columns.count);
  }

  start(): void {
    this.run++;
    this.schedule();
  }

  stop(): void {
    this.run++;
    this.timer?.cancel();
    this.options.vbuckets.nonResidentKeys.cancelRebuild();
  }

  private schedule(): void {
    this.timer?.cancel();
    const { run } = this;
    this.timer = this.options.clock.after(filterCheckMs, () => void this.check(run));
  }

  private async check(run: number): Promise<void> {
    const { columns } = this.options.vbuckets;
    for (let vb = 0; vb < columns.count; vb++) {
      if (this.isOversized(vb)) await this.rebuild(vb, run);
      if (run !== this.run) return;
    }
    this.schedule();
  }

  private isOversized(vb: number): boolean {
    const { columns, nonResidentKeys } = this.options.vbuckets;
    const rows = (columns.items[vb] as number) + (columns.tombstones[vb] as number);
    return nonResidentKeys.count(vb) > excess * Math.max(rows, this.kept[vb] as number) + spareKeys;
  }

  /** A key that leaves memory meanwhile is added by its eviction, so that each row is either in memory when it is read, or in the new filter afterwards. */
  private async rebuild(vb: number, run: number): Promise<void> {
    const { clock, readRows, vbuckets } = this.options;
    const { columns, nonResidentKeys } = vbuckets;
    const clears = columns.clears[vb];
    nonResidentKeys.beginRebuild(vb);
    for (let after = 0; ; ) {
      const page = await readRows(vb, after, pageBytes).catch(() => null);
      if (run !== this.run) return;
      if (page === null || clears !== columns.clears[vb]) return nonResidentKeys.cancelRebuild();
      this.addKeys(vb, page);
      if (page.toSeqno >= page.endSeqno) return this.end(vb);
      after = page.toSeqno;
      await clock.sleep(pauseMs);
      if (run !== this.run) return;
    }
  }

  private end(vb: number): void {
    const { nonResidentKeys } = this.options.vbuckets;
    nonResidentKeys.endRebuild();
    this.kept[vb] = nonResidentKeys.count(vb);
  }

  private addKeys(vb: number, { batch, free }: BackfillPage): void {
    const { vbuckets } = this.options;
    const reader = new CutReader(batch);
    while (reader.nextCut())
      while (reader.nextItem()) {
        const { buffer, keyEnd, keyStart } = reader.item;
        const hash = vbuckets.hash(buffer, keyStart, keyEnd);
        const address = vbuckets.locate(this.position, vb, hash, buffer, keyStart, keyEnd);
        if (address === 0) vbuckets.nonResidentKeys.addRebuilt(vb, hash);
      }
    free?.();
  }
}

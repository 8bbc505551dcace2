// Compresses values in memory, where that releases memory. The files keep them as they were written.
import { snappyCompress } from '#wire/snappy.ts';
import { Datatype } from '#wire/status.ts';
import { isEventKey } from '../data/system-events.ts';
import { Bit, datatypeIn, Word } from '../memory/layout.ts';
import { PageWalk } from '../memory/page-walk.ts';
import type { Residency } from './residency.ts';
import type { Vbuckets } from './vbuckets.ts';

/** Values that are compressed: smaller ones gain nothing; larger ones would take too long to inflate for each reader that does not accept compressed values. */
const valueBytes = { min: 128, max: 64 * 1024 };
/** A slice ends after this many bytes of values, checked every `stepsAtOnce` items. */
const sliceBytes = 256 * 1024;
const stepsAtOnce = 16;
/** A compressed value is kept if it takes less than this share; clients use the same share. */
const compressedShareMax = 0.83;

const ineligible = Bit.deleted | Bit.valueNonResident;
/** Changes that are not persisted or decided: their values can be compressed later. */
const undecided = Bit.dirty | Bit.hasPending | Bit.pending;

export class Compressor {
  /** Since the start: values that were compressed, and values that were tried. */
  compressed = 0;
  visited = 0;
  /** Values that the round so far left to the next one, because a change was not persisted or decided yet. */
  postponed = 0;
  private readonly vbuckets: Vbuckets;
  private readonly residency: Residency;
  private readonly walk: PageWalk;
  private triedBytes = 0;

  constructor(vbuckets: Vbuckets, residency: Residency) {
    this.vbuckets = vbuckets;
    this.residency = residency;
    this.walk = new PageWalk(vbuckets.heap);
  }

  /** Starts again at the first page. */
  begin(): void {
    this.postponed = 0;
    this.walk.restart();
  }

  /** Visits this many items; false once all pages were visited. */
  slice(steps: number): boolean {
    if (this.walk.rounds > 0) return false;
    this.triedBytes = 0;
    for (let left = steps; left > 0 && this.triedBytes < sliceBytes; left -= stepsAtOnce) {
      this.walk.go(Math.min(left, stepsAtOnce), (address) => this.compress(address));
      if (this.walk.rounds > 0) break;
    }
    return this.walk.rounds === 0;
  }

  private compress(address: number): void {
    const { items } = this.vbuckets;
    const state = items.state(address);
    const bytes = items.word(address, Word.valueBytes);
    const packed = Datatype.snappy | Datatype.xattr;
    if ((state & ineligible) !== 0 || (datatypeIn(state) & packed) !== 0) return;
    if (bytes < valueBytes.min || bytes > valueBytes.max) return;
    const page = items.page(address);
    if (isEventKey(page, items.keyStart(address))) return;
    if ((state & undecided) !== 0) {
      this.postponed++;
      return;
    }
    this.visited++;
    this.triedBytes += bytes;
    const block = snappyCompress(page, items.valueStart(address), items.valueEnd(address));
    if (block.length > bytes * compressedShareMax) return;
    if (this.residency.replaceByBlock(address, block)) this.compressed++;
  }
}

// A bucket's changes in the order of their seqnos, for streams: recent ones from memory, older ones from disk, or from
// memory where there is no disk. A write only records which key got a seqno; the rest happens when a stream reads.

import type { Clock } from '#ports/clock.ts';
import type { ChangeSource, EventProgress, Follower } from '../data/change-source.ts';
import { type CutItem, emptyCutItem } from '../data/cut.ts';
import type { BackfillPage } from '../data/disk-engine.ts';
import type { FailoverEntry } from '../data/documents.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { Bit } from '../memory/layout.ts';
import { fillCutItem } from '../vbucket/cut-item.ts';
import { servedState } from '../vbucket/serving.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import { VersionSearch } from '../vbucket/version-search.ts';
import { wholeSeqno } from '../vbucket/whole-seqno.ts';
import type { DurableWrites } from './durability/durable-writes.ts';
import type { VbucketProgress } from './durability/progress.ts';
import { SlicedWork } from './keys/sliced-work.ts';
import { MemoryBackfill } from './memory-backfill.ts';
import { MemoryPage } from './memory-page.ts';

export interface ChangeFeedOptions {
  vbuckets: Vbuckets;
  durableWrites: DurableWrites;
  progress: VbucketProgress;
  events: EventProgress;
  clock: Clock;
  /** Reads the rows of a vbucket; null in buckets without a disk. */
  backfill: ((vb: number, afterSeqno: number, targetBytes?: number) => Promise<BackfillPage>) | null;
}

const none: readonly Follower[] = [];

export class ChangeFeed implements ChangeSource {
  readonly events: EventProgress;
  private readonly options: ChangeFeedOptions;
  private readonly vbuckets: Vbuckets;
  /** The followers of each vbucket, which are few and are looked up at every change. */
  private readonly followers: (Follower[] | undefined)[];
  private readonly memory: MemoryBackfill;
  private readonly memoryForCopies: MemoryBackfill;
  private readonly item = emptyCutItem();
  private readonly versions: VersionSearch;

  constructor(options: ChangeFeedOptions) {
    this.options = options;
    this.events = options.events;
    this.vbuckets = options.vbuckets;
    this.versions = new VersionSearch(options.vbuckets);
    this.followers = new Array(options.vbuckets.columns.count).fill(undefined);
    const work = new SlicedWork(options.clock);
    this.memory = new MemoryBackfill(options.vbuckets, work, (vb) => this.visibleSeqno(vb));
    // One page in a turn: those for copies are larger.
    const copyWork = new SlicedWork(options.clock, 1);
    this.memoryForCopies = new MemoryBackfill(options.vbuckets, copyWork, (vb) => this.highSeqno(vb), true);
    // Runs after the current input is processed: its changes share a snapshot, and no timer delays them.
    this.vbuckets.recent.onChange = () => options.clock.soon(() => this.notify());
  }

  /** Bytes of the recent changes. */
  get bytes(): number {
    return this.vbuckets.recent.bytes;
  }

  stateOf(vb: number): VbucketState {
    return this.vbuckets.columns.state[vb] as VbucketState;
  }

  servedState(vb: number): VbucketState {
    return servedState(this.vbuckets.columns, vb, this.vbuckets.now);
  }

  highSeqno(vb: number): number {
    return this.vbuckets.columns.highSeqno[vb] as number;
  }

  visibleSeqno(vb: number): number {
    const { columns } = this.vbuckets;
    // Streams show nothing of a snapshot that the copy has only in part.
    return Math.min(wholeSeqno(columns, vb), this.options.durableWrites.firstUnresolved(vb) - 1);
  }

  awaitsCopiesOnDisk(vb: number): boolean {
    return this.options.durableWrites.awaitCopiesOnDisk(vb);
  }

  safeSeqno(vb: number): number {
    const visible = this.visibleSeqno(vb);
    // What the members have is known to the active only.
    if (this.stateOf(vb) !== VbucketState.active) return visible;
    return Math.min(visible, this.options.progress.committedSeqno(vb));
  }

  storedSeqno(vb: number): number {
    if (this.options.backfill === null) return this.highSeqno(vb);
    return this.options.progress.persistedSeqno(vb);
  }

  purgeSeqno(vb: number): number {
    return this.vbuckets.columns.purgeSeqno[vb] as number;
  }

  failoverLog(vb: number): readonly FailoverEntry[] {
    return this.vbuckets.failovers.entries(vb);
  }

  follow(vb: number, follower: Follower): void {
    const present = this.followers[vb] ?? none;
    if (present.includes(follower)) return;
    // A new list replaces the old one, over which `notify` may be iterating.
    this.followers[vb] = [...present, follower];
    if (present.length === 0) this.vbuckets.recent.follow(vb);
  }

  unfollow(vb: number, follower: Follower): void {
    const left = this.followers[vb]?.filter((other) => other !== follower);
    if (left === undefined) return;
    this.followers[vb] = left.length > 0 ? left : undefined;
    if (left.length === 0) this.vbuckets.recent.unfollow(vb);
  }

  /** Notifies followers: rows can be read from disk, and durable writes may be visible. */
  persisted(vb: number): void {
    const high = this.highSeqno(vb);
    for (const { position, receivesUncommitted } of this.followers[vb] ?? none)
      if (!receivesUncommitted || position < high) this.vbuckets.recent.touch(vb);
  }

  /** Notifies followers: durable writes may be visible. */
  committed(vb: number): void {
    for (const { receivesUncommitted } of this.followers[vb] ?? none)
      if (!receivesUncommitted) this.vbuckets.recent.touch(vb);
  }

  /** Notifies followers, whose streams end when the state is another. */
  stateChanged(vb: number): void {
    this.vbuckets.recent.touch(vb);
  }

  hasRecent(vb: number, afterSeqno: number): boolean {
    return this.vbuckets.recent.covers(vb, afterSeqno);
  }

  recentEnd(vb: number, afterSeqno: number): number {
    return this.wholeUpTo(vb, afterSeqno, this.safeSeqno(vb));
  }

  recentPage(vb: number, afterSeqno: number, targetBytes: number): BackfillPage | null {
    const endSeqno = this.wholeUpTo(vb, afterSeqno, this.visibleSeqno(vb));
    const page = new MemoryPage(vb, { targetBytes });
    let toSeqno = afterSeqno;
    while (toSeqno < endSeqno && !page.isFull) {
      const seqno = this.readNext(vb, toSeqno, endSeqno, this.item);
      if (seqno < 0) break;
      if (seqno > 0) page.add(this.item);
      toSeqno = seqno === 0 ? endSeqno : seqno;
    }
    return toSeqno > afterSeqno ? page.finish({ toSeqno, endSeqno, purgeSeqno: this.purgeSeqno(vb) }) : null;
  }

  readNext(vb: number, afterSeqno: number, endSeqno: number, item: CutItem): number {
    for (let seqno = afterSeqno + 1; seqno <= endSeqno; seqno++) {
      const address = this.addressOf(vb, seqno);
      if (address === 0) continue;
      if ((this.vbuckets.items.state(address) & Bit.valueNonResident) !== 0) return -1;
      fillCutItem(this.vbuckets.items, address, item);
      return seqno;
    }
    return 0;
  }

  readNextForCopy(vb: number, afterSeqno: number, endSeqno: number, item: CutItem): number {
    const { items, recent } = this.vbuckets;
    for (let seqno = afterSeqno + 1; seqno <= endSeqno; seqno++) {
      const address = this.versions.find(vb, recent.hash(vb, seqno), seqno);
      if (address === 0) continue;
      if ((items.state(address) & Bit.valueNonResident) !== 0) return -1;
      fillCutItem(items, address, item);
      return seqno;
    }
    return 0;
  }

  backfill(vb: number, afterSeqno: number, targetBytes?: number): Promise<BackfillPage> {
    const { backfill } = this.options;
    return backfill ? backfill(vb, afterSeqno, targetBytes) : this.memory.page(vb, afterSeqno, targetBytes);
  }

  async documents(
    vb: number,
    afterSeqno: number,
    listedSeqno: number | undefined,
    targetBytes?: number,
  ): Promise<BackfillPage> {
    const { backfill } = this.options;
    const page = backfill && (await this.memory.documentsPage(vb, afterSeqno, listedSeqno, targetBytes));
    return page ?? (await this.backfill(vb, afterSeqno, targetBytes));
  }

  async backfillForCopy(vb: number, afterSeqno: number): Promise<BackfillPage> {
    const { backfill } = this.options;
    if (backfill === null) return await this.memoryForCopies.page(vb, afterSeqno);
    return (await this.memoryForCopies.wholePage(vb, afterSeqno)) ?? (await backfill(vb, afterSeqno));
  }

  private wholeUpTo(vb: number, afterSeqno: number, upTo: number): number {
    if (upTo === this.highSeqno(vb)) return upTo;
    // A later write may have replaced a version that a snapshot ending here would need.
    for (let seqno = afterSeqno + 1; seqno <= upTo; seqno++) {
      if (this.addressOf(vb, seqno) === 0) return seqno - 1;
    }
    return upTo;
  }

  private notify(): void {
    for (const vb of this.vbuckets.recent.takeChanged()) {
      const followers = this.followers[vb];
      if (followers === undefined) continue;
      let position = Infinity;
      for (const follower of followers) {
        // The call of an earlier follower may have removed this one.
        if (followers !== this.followers[vb] && !this.followers[vb]?.includes(follower)) continue;
        follower.changed();
        position = Math.min(position, follower.position);
      }
      this.vbuckets.recent.release(vb, position + 1);
    }
  }

  private addressOf(vb: number, seqno: number): number {
    const { index, items, recent } = this.vbuckets;
    const slot = index.locateWhere(vb, recent.hash(vb, seqno), (address) => items.seqno(address) === seqno);
    return slot < 0 ? 0 : index.address(vb, slot);
  }
}

// Pages of the changes of a vbucket from memory: for streams where there is no disk or that need documents only, and for copies. Listed by
// seqno in slices, since a vbucket may have a million documents, and then read page by page from the list.

import type { WorkSteps } from '#base/steps.ts';
import { type CutItem, emptyCutItem } from '../data/cut.ts';
import type { BackfillPage } from '../data/disk-engine.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { Bit, Word } from '../memory/layout.ts';
import { fillCutItem } from '../vbucket/cut-item.ts';
import { pendingOf } from '../vbucket/pending.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import { KeyWalk } from './keys/key-walk.ts';
import type { SlicedWork } from './keys/sliced-work.ts';
import { MemoryPage } from './memory-page.ts';

/** Entries of the list that one page visits: their documents may have changed since. */
const entriesPerPage = 2_048;
/** Slots of the key index that one step visits. */
const slotsPerStep = 512;
/** Entries that one step sorts. */
const runLength = 8_192;
/** Limits of the lists that are kept for other streams: vbuckets, and entries of twelve bytes. A dropped list is made again when needed. */
const listsMax = 64;
const entriesMaxDefault = 2 ** 20;
/** A copy that lacks fewer changes than this share of a vbucket's keys gets rows from disk: a list visits every key. */
const listedShareMin = 1 / 8;
/** A list that was not used during this many pages for copies is dropped when another needs room: its own copy is no longer filled. */
const unusedPagesMax = 4_096;
/** After this many lists in a row that changes made outdated before they were complete, one is made without yielding. */
const overtakenMax = 3;

/** Part of a list in the order of seqnos. */
interface Run {
  seqnos: Float64Array;
  hashes: Uint32Array;
  next: number;
}

/** The versions that had seqnos above `from` and up to `upTo` when they were listed. Later versions have later seqnos. */
interface SeqnoList {
  from: number;
  upTo: number;
  runs: Run[];
  entries: number;
  /** Number of lists before it that were outdated when they were complete. */
  overtaken: number;
  /** How many items of the vbucket had been evicted wholly, and how often it had been emptied before. */
  evictions: number;
  clears: number;
  /** The number that `wholePage` had when it used the list last. */
  usedFor: number;
}

export class MemoryBackfill {
  private readonly vbuckets: Vbuckets;
  private readonly work: SlicedWork;
  private readonly visibleSeqno: (vb: number) => number;
  /** With durable writes that are not committed, and with all values, because the pages are sent as they are. */
  private readonly forCopies: boolean;
  private readonly entriesMax: number;
  /** In the order in which they were made, or were last used for a copy of a vbucket on disk. */
  private readonly lists = new Map<number, SeqnoList>();
  /** Lists that are being made, for all streams that wait for one. */
  private readonly making = new Map<number, Promise<SeqnoList>>();
  private entries = 0;
  /** Number of calls of `wholePage`. */
  private pages = 0;
  private readonly item: CutItem = emptyCutItem();

  constructor(
    vbuckets: Vbuckets,
    work: SlicedWork,
    visibleSeqno: (vb: number) => number,
    forCopies = false,
    entriesMax = entriesMaxDefault,
  ) {
    this.vbuckets = vbuckets;
    this.work = work;
    this.visibleSeqno = visibleSeqno;
    this.forCopies = forCopies;
    this.entriesMax = entriesMax;
  }

  async page(vb: number, afterSeqno: number, targetBytes?: number): Promise<BackfillPage> {
    let list = await this.listOf(vb);
    if (list === undefined || afterSeqno < list.from || afterSeqno >= list.upTo)
      list = await this.newList(vb, afterSeqno, list);
    await this.work.turn();
    return this.pageOf(vb, afterSeqno, list, targetBytes);
  }

  /**
   * As `page`, where there is a disk, for a reader that began at seqno 0: without deletions from before, which may be on disk only. Null
   * unless all documents are in memory and visible. Null too for changes after those that the first page listed, which are read from
   * disk: a later list would leave out deletions of documents that the reader has from the first list or from disk.
   */
  async documentsPage(
    vb: number,
    afterSeqno: number,
    listedSeqno: number | undefined,
    targetBytes?: number,
  ): Promise<BackfillPage | null> {
    let list = await this.listOf(vb);
    if (!this.isWhole(vb)) return null;
    const isOther = list === undefined || list.from > 0 || list.upTo !== listedSeqno;
    if (afterSeqno > 0 && (isOther || afterSeqno >= listedSeqno)) return null;
    const { wholeEvictions } = this.vbuckets.columns;
    const isOld = list?.upTo !== this.highSeqno(vb) || list.evictions !== wholeEvictions[vb];
    if (list === undefined || (afterSeqno === 0 && isOld)) list = await this.newList(vb, 0, undefined);
    await this.work.turn();
    if (!this.isWhole(vb) || !this.isValid(vb, list)) return null;
    return { ...this.pageOfReader(vb, afterSeqno, list, targetBytes), listedSeqno: list.upTo };
  }

  /** As `page`, where there is a disk. Null unless memory has every version after this seqno, tombstones and system events included. */
  async wholePage(vb: number, afterSeqno: number): Promise<BackfillPage | null> {
    this.pages++;
    let list = await this.listOf(vb);
    const hasNext = list !== undefined && afterSeqno >= list.from && afterSeqno < list.upTo;
    if (list === undefined || !hasNext || !this.isValid(vb, list)) {
      if (!this.isWholeAfter(vb, afterSeqno) || !this.isListQuicker(vb, afterSeqno)) return null;
      // Copies of many vbuckets begin at the same time.
      await this.work.turn();
      if (!this.isWholeAfter(vb, afterSeqno)) return null;
      list = await this.newList(vb, afterSeqno, list, Infinity);
    }
    await this.work.turn();
    if (!this.isValid(vb, list) || !this.isWholeAfter(vb, afterSeqno)) return null;
    this.noteUse(vb, list);
    return this.pageOfReader(vb, afterSeqno, list);
  }

  /**
   * Whether a copy is filled in less time from a new list than from disk. Copies of hundreds of vbuckets may be filled at the same time: if the list
   * dropped one of another vbucket, large lists would be made again for each page.
   */
  private isListQuicker(vb: number, afterSeqno: number): boolean {
    const keys = this.vbuckets.index.count(vb);
    const changes = this.highSeqno(vb) - afterSeqno;
    if (changes < keys * listedShareMin) return false;
    const entries = Math.min(keys, changes);
    for (const [other, { usedFor }] of this.lists) {
      if (this.hasRoom(vb, entries)) return true;
      if (this.pages - usedFor <= unusedPagesMax) return false;
      this.drop(other);
    }
    return this.hasRoom(vb, entries);
  }

  /** Whether a list of this many entries fits beside those of other vbuckets. */
  private hasRoom(vb: number, entries: number): boolean {
    let total = this.entries + entries - (this.lists.get(vb)?.entries ?? 0);
    for (const other of this.making.keys()) total += this.vbuckets.index.count(other);
    return total <= this.entriesMax;
  }

  /** Moves the list behind those that were used before. */
  private noteUse(vb: number, list: SeqnoList): void {
    list.usedFor = this.pages;
    if (this.lists.get(vb) !== list) return;
    this.lists.delete(vb);
    this.lists.set(vb, list);
  }

  /** Whether the list has what it would have had without evictions: of an item that was evicted and read again, it may lack the version. */
  private isValid(vb: number, { clears, evictions }: SeqnoList): boolean {
    const { columns } = this.vbuckets;
    return evictions === columns.wholeEvictions[vb] && clears === columns.clears[vb];
  }

  private isWholeAfter(vb: number, afterSeqno: number): boolean {
    return this.isWhole(vb) && afterSeqno >= (this.vbuckets.columns.uncountedSeqno[vb] as number);
  }

  private async listOf(vb: number): Promise<SeqnoList | undefined> {
    const list = this.lists.get(vb) ?? (await this.making.get(vb));
    // The vbucket was emptied since: its seqnos belong to another history.
    return list?.clears === this.vbuckets.columns.clears[vb] ? list : undefined;
  }

  private highSeqno(vb: number): number {
    return this.vbuckets.columns.highSeqno[vb] as number;
  }

  /** All documents are in memory, and none waits for a durable write. */
  private isWhole(vb: number): boolean {
    const { columns } = this.vbuckets;
    if (columns.state[vb] !== VbucketState.active || this.visibleSeqno(vb) !== this.highSeqno(vb))
      return false;
    return columns.nonResidentItems[vb] === 0 && columns.nonResidentValues[vb] === 0;
  }

  /** `keptMax`: if there are more lists afterwards, others are dropped. */
  private async newList(
    vb: number,
    from: number,
    before: SeqnoList | undefined,
    keptMax = listsMax,
  ): Promise<SeqnoList> {
    const isOvertaken = before !== undefined && from >= before.upTo;
    const making = this.list(vb, from, isOvertaken ? before.overtaken + 1 : 0);
    this.making.set(vb, making);
    const list = await making;
    if (this.making.get(vb) === making) this.making.delete(vb);
    this.store(vb, list, keptMax);
    return list;
  }

  private store(vb: number, list: SeqnoList, keptMax: number): void {
    this.drop(vb);
    this.lists.set(vb, list);
    this.entries += list.entries;
    for (const other of this.lists.keys())
      if (other !== vb && (this.lists.size > keptMax || this.entries > this.entriesMax)) this.drop(other);
  }

  private drop(vb: number): void {
    this.entries -= this.lists.get(vb)?.entries ?? 0;
    this.lists.delete(vb);
  }

  private list(vb: number, from: number, overtaken: number): Promise<SeqnoList> {
    const steps = this.listInSteps(vb, from, overtaken % overtakenMax);
    if (overtaken < overtakenMax) return new Promise((resolve) => this.work.run(steps, resolve));
    for (;;) {
      const { done, value } = steps.next();
      if (done) return Promise.resolve(value);
    }
  }

  private *listInSteps(vb: number, from: number, overtaken: number): WorkSteps<SeqnoList> {
    const { index, items, columns } = this.vbuckets;
    const upTo = columns.highSeqno[vb] as number;
    const [evictions, clears] = [columns.wholeEvictions[vb] as number, columns.clears[vb] as number];
    const runs: Run[] = [];
    let keys: number[] = [];
    let hashes: number[] = [];
    const add = (seqno: number, hash: number): void => {
      if (seqno <= from || seqno > upTo) return;
      // The low part of the number is the index of the hash.
      keys.push((seqno - from) * runLength + hashes.length);
      hashes.push(hash);
      if (hashes.length < runLength) return;
      runs.push(runOf(keys, hashes, from));
      keys = [];
      hashes = [];
    };
    const walk = new KeyWalk(index, vb, (address, hash) => {
      const state = items.state(address);
      if ((state & Bit.pending) === 0 || this.forCopies) add(items.seqno(address), hash);
      if ((state & Bit.hasPending) !== 0 && this.forCopies)
        add(items.seqno(items.word(address, Word.lockOrPending)), hash);
    });
    while (!walk.slice(slotsPerStep)) yield;
    if (hashes.length > 0) runs.push(runOf(keys, hashes, from));
    const entries = runs.reduce((sum, { hashes }) => sum + hashes.length, 0);
    return { from, upTo, runs, entries, overtaken, evictions, clears, usedFor: this.pages };
  }

  /** As `pageOf`; the list is dropped with its last page, since usually one reader uses it. */
  private pageOfReader(vb: number, afterSeqno: number, list: SeqnoList, targetBytes?: number): BackfillPage {
    const page = this.pageOf(vb, afterSeqno, list, targetBytes);
    if (page.toSeqno >= list.upTo && this.lists.get(vb) === list) this.drop(vb);
    return page;
  }

  private pageOf(vb: number, afterSeqno: number, list: SeqnoList, targetBytes?: number): BackfillPage {
    const page = new MemoryPage(vb, { isForCopy: this.forCopies, targetBytes });
    for (const run of list.runs) skipTo(run, afterSeqno);
    let toSeqno = afterSeqno;
    for (let left = entriesPerPage; ; left--) {
      const run = firstOf(list.runs);
      if (run === null) {
        toSeqno = this.writeNewest(page, vb, list.upTo);
        break;
      }
      if (left === 0 || page.isFull) break;
      const seqno = run.seqnos[run.next] as number;
      // A walk through an index that grows visits some keys twice.
      if (seqno > toSeqno) this.write(page, vb, seqno, run.hashes[run.next] as number);
      toSeqno = seqno;
      run.next++;
    }
    const endSeqno = this.visibleSeqno(vb);
    // A list within `entriesMax` stays for the next readers. A larger one is dropped, and each reader makes its own.
    if (toSeqno >= endSeqno && this.entries > this.entriesMax) this.drop(vb);
    return page.finish({ toSeqno, endSeqno, purgeSeqno: this.vbuckets.columns.purgeSeqno[vb] as number });
  }

  /** Writes the changes since the list was made, as far as the recent changes in memory contain them; returns the last seqno. */
  private writeNewest(page: MemoryPage, vb: number, upTo: number): number {
    const { recent } = this.vbuckets;
    const visible = this.visibleSeqno(vb);
    if (visible <= upTo) return visible;
    if (!recent.covers(vb, upTo)) return upTo;
    let seqno = upTo;
    while (seqno < visible && !page.isFull) {
      seqno++;
      this.write(page, vb, seqno, recent.hash(vb, seqno));
    }
    return seqno;
  }

  /** Writes nothing if the document has changed since. */
  private write(page: MemoryPage, vb: number, seqno: number, hash: number): void {
    const { index, items } = this.vbuckets;
    const slot = index.locateWhere(vb, hash, (address) => items.seqno(address) === seqno);
    const pending = slot < 0 && this.forCopies ? pendingOf(this.vbuckets, vb, hash, seqno) : 0;
    const address = slot < 0 ? pending : index.address(vb, slot);
    if (address === 0) return;
    fillCutItem(items, address, this.item);
    page.add(this.item);
  }
}

function runOf(keys: number[], hashes: number[], from: number): Run {
  const sorted = Float64Array.from(keys).sort();
  return {
    seqnos: sorted.map((key) => Math.floor(key / runLength) + from),
    hashes: Uint32Array.from(sorted, (key) => hashes[key % runLength] as number),
    next: 0,
  };
}

/** Streams of several clients read one list, each from its own position. */
function skipTo(run: Run, afterSeqno: number): void {
  let [low, high] = [0, run.seqnos.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((run.seqnos[middle] as number) <= afterSeqno) low = middle + 1;
    else high = middle;
  }
  run.next = low;
}

/** The run with the smallest seqno that is left. */
function firstOf(runs: readonly Run[]): Run | null {
  let first: Run | null = null;
  let smallest = Infinity;
  for (const run of runs) {
    const seqno = run.seqnos[run.next];
    if (seqno === undefined || seqno >= smallest) continue;
    smallest = seqno;
    first = run;
  }
  return first;
}

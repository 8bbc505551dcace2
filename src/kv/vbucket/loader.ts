// Loads stored items into memory at warm-up, from the cuts that the disk sends.
import { CutBits, type CutItem, CutReader, isDeleted } from '../data/cut.ts';
import type { CutBuffer } from '../data/disk-engine.ts';
import { isEventKey } from '../data/system-events.ts';
import { draftOfStored } from './drafts.ts';
import type { EventRecorder } from './event-recorder.ts';
import { emptyPosition } from './item-position.ts';
import { type Draft, emptyDraft } from './items.ts';
import { collectionIdOf, type LiveCollections } from './live-collections.ts';
import type { Residency } from './residency.ts';
import type { Vbuckets } from './vbuckets.ts';

export interface LoaderOptions {
  vbuckets: Vbuckets;
  collections: LiveCollections;
  residency: Residency;
  events: EventRecorder;
  /** When true, further items leave their value, or all of themselves, on disk. */
  isFull: () => boolean;
}

/** Items between two checks of the memory. */
const itemsPerCheck = 64;

export class Loader {
  /** Ids of dropped collections whose documents were read: the sweeper must remove these documents. */
  readonly gone = new Set<number>();
  /** Documents and tombstones read so far, and how many of them came with their value. */
  keys = 0;
  values = 0;
  /** How many documents have their value on disk only. */
  valuesOnDisk = 0;
  private readonly vbuckets: Vbuckets;
  private readonly collections: LiveCollections;
  private readonly residency: Residency;
  private readonly events: EventRecorder;
  private readonly isFull: () => boolean;
  private readonly position = emptyPosition();
  private readonly draft: Draft = emptyDraft();

  constructor(options: LoaderOptions) {
    this.vbuckets = options.vbuckets;
    this.collections = options.collections;
    this.residency = options.residency;
    this.events = options.events;
    this.isFull = options.isFull;
  }

  /** Reserves room for the items of a vbucket, by the count in its file. */
  expect(vb: number, count: number): void {
    if (this.residency.policy !== 'fullEviction') this.vbuckets.index.reserve(vb, count);
  }

  load(batch: CutBuffer): void {
    const reader = new CutReader(batch);
    let isFull = this.isFull();
    while (reader.nextCut()) {
      while (reader.nextItem()) {
        if (this.keys++ % itemsPerCheck === 0) isFull = this.isFull();
        this.loadItem(reader.state.vb, reader.item, isFull);
      }
    }
  }

  /** Loads values that warm-up left on disk because they are large. */
  loadValues(batch: CutBuffer): void {
    const reader = new CutReader(batch);
    while (reader.nextCut()) {
      while (reader.nextItem()) if (this.residency.loadValue(reader.state.vb, reader.item)) this.values++;
    }
  }

  private loadItem(vb: number, item: CutItem, isFull: boolean): void {
    if (isEventKey(item.buffer, item.keyStart)) {
      this.events.noteStored(vb, item);
      this.vbuckets.columns.noteUncounted(vb, item.seqno);
      return;
    }
    // The events of a vbucket come before its documents in other collections than the default one, which no manifest lacks for the time being.
    const isGone = this.collections.isGone(item.buffer, item.keyStart, vb);
    if (isGone && isDeleted(item)) {
      this.vbuckets.columns.noteUncounted(vb, item.seqno);
      return;
    }
    if (isGone) this.gone.add(collectionIdOf(item.buffer, item.keyStart));
    const { vbuckets, draft, position } = this;
    const hash = vbuckets.hash(item.buffer, item.keyStart, item.keyEnd);
    const address = vbuckets.locate(position, vb, hash, item.buffer, item.keyStart, item.keyEnd);
    if (address !== 0 && vbuckets.items.seqno(address) >= item.seqno) return;
    draftOfStored(item, draft);
    vbuckets.countStored(position, draft);
    this.collections.noteSeqno(item.buffer, item.keyStart, vb, item.seqno);
    const isWhole = (item.bits & CutBits.valueOmitted) === 0;
    if (!isWhole) this.valuesOnDisk++;
    if (isWhole && (address !== 0 || !isFull)) this.restore(item);
    else if (isFull && this.residency.policy === 'fullEviction' && !isGone)
      this.residency.leaveOnDisk(position, draft, item.seqno);
    else this.residency.keepKey(position, draft, item);
  }

  private restore(item: CutItem): void {
    if (!this.vbuckets.restore(this.position, this.draft, item))
      throw new RangeError('no memory for the stored documents');
    this.values++;
  }
}

// All vbuckets of a bucket: looking up a key, and the few ways in which a document's version changes. The caller checks whether
// a change is permitted; here it gets its seqno, CAS and revision, and counts and lists are updated.
import { assert } from '#base/assert.ts';
import type { IncomingVersion, ItemView, MutationResult } from '../data/documents.ts';
import { isEventKey } from '../data/system-events.ts';
import { hashKey } from '../memory/hash.ts';
import { Heap } from '../memory/heap.ts';
import { KeyFilter } from '../memory/key-filter.ts';
import { KeyIndex, slotWords } from '../memory/key-index.ts';
import { Bit, revMax, vbucketsMax, Word } from '../memory/layout.ts';
import { advanceCas, raiseCas } from './cas-clock.ts';
import { VbucketColumns } from './columns.ts';
import { appendDirty, supersedeDirty, unlinkDirty } from './dirty-list.ts';
import { FailoverLogs } from './failover-logs.ts';
import { type ItemPosition, setPosition } from './item-position.ts';
import { adoptedMemory, type Draft, draftBytes, Items } from './items.ts';
import type { LiveCollections } from './live-collections.ts';
import type { Now } from './now.ts';
import { RecentChanges } from './recent-changes.ts';

export interface VbucketsOptions {
  count: number;
  now: Now;
  collections: LiveCollections;
  hashSeed: number;
  /** Items are written to a disk through cuts; without a disk there is no list of dirty items. */
  isPersistent: boolean;
}

/** Seqno, CAS and revision of a version that the active vbucket on another node made. */
export interface VersionStamp {
  seqno: number;
  casHi: number;
  casLo: number;
  rev: number;
}

/** The state of a key. */
const Kind = { none: 0, live: 1, tombstone: 2 } as const;
type Kind = (typeof Kind)[keyof typeof Kind];

export class Vbuckets {
  readonly heap = new Heap();
  readonly items = new Items(this.heap);
  readonly columns: VbucketColumns;
  readonly failovers: FailoverLogs;
  readonly recent: RecentChanges;
  readonly now: Now;
  readonly index: KeyIndex;
  /** Keys that may be on disk though they are not in memory. */
  readonly nonResidentKeys: KeyFilter;
  private readonly collections: LiveCollections;
  readonly hashSeed: number;
  private readonly isPersistent: boolean;
  private readonly applied: MutationResult = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };

  constructor(options: VbucketsOptions) {
    assert(options.count <= vbucketsMax, 'there are more vbuckets than an item can name');
    this.columns = new VbucketColumns(options.count);
    this.failovers = new FailoverLogs(options.count);
    this.recent = new RecentChanges(this.columns);
    this.index = new KeyIndex(this.heap, options.count);
    this.nonResidentKeys = new KeyFilter(options.count);
    this.now = options.now;
    this.collections = options.collections;
    this.hashSeed = options.hashSeed;
    this.isPersistent = options.isPersistent;
  }

  hash(key: Buffer, start: number, end: number): number {
    return hashKey(key, start, end, this.hashSeed);
  }

  /** Points `position` at a key; returns its item's address, or 0. */
  locate(position: ItemPosition, vb: number, hash: number, key: Buffer, start: number, end: number): number {
    const { index } = this;
    const slot = index.locate(vb, hash, key, start, end);
    return setPosition(position, vb, hash, slot, slot < 0 ? 0 : index.address(vb, slot));
  }

  /** Points `position` at the key whose pending version is at `pending`; false when there is none. */
  locatePending(position: ItemPosition, vb: number, hash: number, pending: number): boolean {
    const { index, items } = this;
    const slot = index.locateWhere(vb, hash, (address) => {
      if (address === pending) return true;
      const isPaired = (items.state(address) & Bit.hasPending) !== 0;
      return isPaired && items.word(address, Word.lockOrPending) === pending;
    });
    if (slot >= 0) setPosition(position, vb, hash, slot, index.address(vb, slot));
    return slot >= 0;
  }

  /** Points `position` at an item found by a walk through memory. */
  locateItem(position: ItemPosition, address: number): void {
    const { index, items } = this;
    const vb = items.vb(address);
    const hash = this.hash(items.page(address), items.keyStart(address), items.valueStart(address));
    setPosition(position, vb, hash, index.locateAddress(vb, hash, address), address);
  }

  /** Points the view at an item. */
  show(address: number, view: ItemView): void {
    this.items.show(address, this.now, view);
  }

  /** Bytes by which memory would grow for this draft of the item at `position`. */
  growth({ address }: ItemPosition, draft: Draft): number {
    const bytes = draftBytes(draft);
    return address !== 0 && this.heap.fits(address, bytes) ? 0 : this.heap.growth(bytes);
  }

  /** Writes the draft as the new version at `position`; false when there is no memory. */
  write(position: ItemPosition, draft: Draft, result: MutationResult): boolean {
    return this.replace(position, draft, null, result);
  }

  /** Stores a version that the active made, unchanged; its seqno must be above all of the vbucket. False when there is no memory. */
  apply(position: ItemPosition, draft: Draft, version: VersionStamp): boolean {
    return this.replace(position, draft, version, this.applied);
  }

  /** Without a given version this node creates one: it gets the next seqno, CAS and revision. */
  private replace(
    position: ItemPosition,
    draft: Draft,
    version: VersionStamp | null,
    result: MutationResult,
  ): boolean {
    const { heap, items, columns } = this;
    const { vb, address: old } = position;
    const target = this.memoryFor(draft, old, draftBytes(draft));
    if (target === 0) return false;
    const before = this.kind(old);
    const rev = version === null ? this.nextRev(vb, old) : version.rev;
    const seqno = version === null ? (columns.highSeqno[vb] as number) + 1 : version.seqno;
    if (old !== 0) supersedeDirty(columns, items, vb, old, seqno);
    this.noteReplaced(vb, old);
    items.write(target, vb, draft, target !== old);
    draft.memory = null;
    if (old !== 0) items.setBits(target, Bit.used);
    if (version === null) this.stamp(position, target, rev, result);
    else this.stampAs(position, target, version);
    this.count(vb, before, draft.bits, draft.key, draft.keyStart);
    if ((draft.bits & Bit.deleted) !== 0 && !isEventKey(draft.key, draft.keyStart))
      this.noteDeletedRev(vb, rev);
    if (target !== old) position.address = this.put(position, target);
    if (target !== old && old !== 0) heap.free(old);
    return true;
  }

  /** The address for the draft: that of `old` if it is overwritten, or new memory. `draft.memory` stays set if it was adopted. */
  private memoryFor(draft: Draft, old: number, bytes: number): number {
    const { heap } = this;
    const memory = draft.memory === null ? null : adoptedMemory(draft);
    draft.memory = null;
    if (old !== 0 && heap.mayOverwrite(old, bytes)) return old;
    const adopted = memory === null ? 0 : heap.adopt(memory, bytes);
    if (adopted !== 0) draft.memory = memory;
    return adopted || heap.allocate(bytes);
  }

  /** As `write`, for a version whose CAS and revision were made elsewhere. */
  writeIncoming(
    position: ItemPosition,
    draft: Draft,
    incoming: IncomingVersion,
    result: MutationResult,
  ): boolean {
    if (!this.write(position, draft, result)) return false;
    const { items, columns } = this;
    const { vb, address } = position;
    const { rev, casHi, casLo } = incoming;
    items.setSeqnoAndRev(address, result.seqno, rev);
    if ((draft.bits & Bit.deleted) !== 0) this.noteDeletedRev(vb, rev);
    if (incoming.regeneratesCas) return true;
    items.setCas(address, casHi, casLo);
    raiseCas(columns, vb, { hi: casHi, lo: casLo, extra: 0 });
    result.casHi = casHi;
    result.casLo = casLo;
    return true;
  }

  /** Gives the item at `position` a new expiry; the item does not move. */
  changeExpiry(position: ItemPosition, expiry: number, result: MutationResult): void {
    const { vb, address } = position;
    supersedeDirty(this.columns, this.items, vb, address, (this.columns.highSeqno[vb] as number) + 1);
    this.items.setWord(address, Word.expiry, expiry);
    this.items.unlockItem(address);
    this.stamp(position, address, this.nextRev(vb, address), result);
  }

  /** Writes the draft as a pending version beside the one at `position`; false when there is no memory. */
  writePending(position: ItemPosition, draft: Draft, result: MutationResult): boolean {
    const { items, columns } = this;
    const { vb, address: old } = position;
    const target = this.memoryFor(draft, 0, draftBytes(draft));
    if (target === 0) return false;
    const rev = this.nextRev(vb, old);
    if (old !== 0) supersedeDirty(columns, items, vb, old, (columns.highSeqno[vb] as number) + 1);
    items.write(target, vb, draft, true);
    draft.memory = null;
    items.setBits(target, Bit.pending);
    this.stamp(position, target, rev, result);
    // Noted before the commit, since the cut that writes the deletion carries the highest revision of a deletion.
    if ((draft.bits & Bit.deleted) !== 0) this.noteDeletedRev(vb, rev);
    if (old === 0) position.address = this.put(position, target);
    else this.pair(old, target);
    return true;
  }

  /** The address of the pending version at `position`. */
  pendingAt({ address }: ItemPosition): number {
    const isAlone = (this.items.state(address) & Bit.pending) !== 0;
    return isAlone ? address : this.items.word(address, Word.lockOrPending);
  }

  /** Makes the pending version at `position` the committed one. */
  commitPending(position: ItemPosition): void {
    const { items } = this;
    const { vb, address } = position;
    const pending = this.pendingAt(position);
    const alone = pending === address;
    const before = alone ? Kind.none : this.kind(address);
    items.clearBits(pending, Bit.pending);
    const page = this.heap.bytes[pending >>> 16] as Buffer;
    const bits = items.state(pending) & Bit.deleted;
    this.count(vb, before, bits, page, items.keyStart(pending));
    if (alone) return;
    this.noteReplaced(vb, address);
    this.index.replace(vb, position.slot, pending);
    this.heap.free(address);
    position.address = pending;
  }

  /** Removes the item at `position` without a tombstone, and without a change of its collection's count. */
  discard(position: ItemPosition): void {
    const { items, columns } = this;
    const { vb, address } = position;
    const isEvent = isEventKey(items.page(address), items.keyStart(address));
    if (!isEvent && (items.state(address) & Bit.deleted) !== 0) columns.uncountTombstone(vb);
    else if (!isEvent) (columns.items[vb] as number) -= 1;
    if ((items.state(address) & Bit.dirty) !== 0) unlinkDirty(columns, items, vb, address);
    this.noteReplaced(vb, address);
    columns.noteUncounted(vb, items.seqno(address));
    this.recent.noteEvicted(vb, items.seqno(address));
    this.index.remove(vb, position.slot);
    this.heap.free(address);
  }

  /** As `discard`; a live item is no longer counted in its collection. */
  discardCounted(position: ItemPosition): void {
    const { address, vb } = position;
    const page = this.items.page(address);
    if (this.kind(address) === Kind.live) {
      const slot = this.collections.countingSlot(page, this.items.keyStart(address), vb);
      this.collections.addItems(slot, vb, -1);
    }
    this.discard(position);
  }

  /** Inserts a stored item; `position` was located for its key. False when there is no memory. */
  restore(position: ItemPosition, draft: Draft, stored: VersionStamp): boolean {
    const { items } = this;
    const { vb } = position;
    const target = this.heap.allocate(draftBytes(draft));
    if (target === 0) return false;
    items.write(target, vb, draft, true);
    items.setCas(target, stored.casHi, stored.casLo);
    items.setSeqnoAndRev(target, stored.seqno, stored.rev);
    const old = position.address;
    this.noteReplaced(vb, old);
    position.address = this.put(position, target);
    if (old !== 0) this.heap.free(old);
    return true;
  }

  /** Counts an item that is on disk, before it is loaded or left there. `position` was located for its key. */
  countStored({ vb, address }: ItemPosition, draft: Draft): void {
    this.count(vb, this.kind(address), draft.bits, draft.key, draft.keyStart);
  }

  /** Removes all documents and history; CAS clocks continue, so that no value is assigned twice. */
  clear(): void {
    this.heap.clear();
    for (let vb = 0; vb < this.columns.count; vb++) this.clearVbucket(vb);
  }

  /** Frees every item of a vbucket that this node no longer has, or whose file turned out to be unreadable. */
  drop(vb: number): void {
    const { index } = this;
    for (let word = 0; word < index.end(vb); word += slotWords) {
      const address = index.address(vb, index.slotAt(vb, word));
      if (address !== 0) this.heap.free(address);
    }
    this.clearVbucket(vb);
  }

  private clearVbucket(vb: number): void {
    this.index.clear(vb);
    this.nonResidentKeys.clear(vb);
    this.failovers.clear(vb);
    this.columns.clear(vb);
    this.collections.discardVbucket(vb);
  }

  private noteReplaced(vb: number, old: number): void {
    if (old === 0) return;
    const state = this.items.state(old);
    if ((state & (Bit.valueNonResident | Bit.locked)) === 0) return;
    if ((state & Bit.valueNonResident) !== 0) (this.columns.nonResidentValues[vb] as number) -= 1;
    this.items.unlockItem(old);
  }

  private kind(address: number): Kind {
    if (address === 0) return Kind.none;
    return (this.items.state(address) & Bit.deleted) === 0 ? Kind.live : Kind.tombstone;
  }

  private nextRev(vb: number, old: number): number {
    const before = old === 0 ? (this.columns.maxDeletedRev[vb] as number) : this.items.rev(old);
    // Another cluster may have given the highest revision: then the CAS decides conflicts.
    return Math.min(before + 1, revMax);
  }

  private noteDeletedRev(vb: number, rev: number): void {
    if (rev > (this.columns.maxDeletedRev[vb] as number)) this.columns.maxDeletedRev[vb] = rev;
  }

  private stamp(position: ItemPosition, address: number, rev: number, result: MutationResult): void {
    const { columns } = this;
    const { vb } = position;
    advanceCas(columns, vb, this.now);
    result.casHi = columns.casHi[vb] as number;
    result.casLo = columns.casLo[vb] as number;
    result.seqno = (columns.highSeqno[vb] as number) + 1;
    result.pending = 0;
    this.mark(position, address, rev, result);
  }

  private stampAs(position: ItemPosition, address: number, version: VersionStamp): void {
    const { casHi: hi, casLo: lo, seqno } = version;
    raiseCas(this.columns, position.vb, { hi, lo, extra: 0 });
    this.recent.skip(position.vb, seqno);
    this.mark(position, address, version.rev, version);
  }

  private mark(position: ItemPosition, address: number, rev: number, stamp: Omit<VersionStamp, 'rev'>): void {
    const { items, columns } = this;
    const { seqno, casHi, casLo } = stamp;
    const { vb } = position;
    items.setCas(address, casHi, casLo);
    items.setSeqnoAndRev(address, seqno, rev);
    columns.highSeqno[vb] = seqno;
    if (this.isPersistent) appendDirty(columns, items, vb, address);
    this.recent.note(vb, seqno, this.hashAt(position));
    this.collections.noteSeqno(items.page(address), items.keyStart(address), vb, seqno);
  }

  /** A caller that walks slots has no hash in `position`; a caller that adds a key has no slot yet. */
  private hashAt({ vb, slot, hash, address }: ItemPosition): number {
    return address === 0 ? hash : this.index.hash(vb, slot);
  }

  /** Points the key's slot at `target`, or adds one. */
  private put(position: ItemPosition, target: number): number {
    const { index } = this;
    if (position.address === 0) index.insert(position.vb, position.hash, target);
    else index.replace(position.vb, position.slot, target);
    return target;
  }

  private pair(committed: number, pending: number): void {
    this.items.unlockItem(committed);
    this.items.setBits(committed, Bit.hasPending);
    this.items.setWord(committed, Word.lockOrPending, pending);
  }

  private count(vb: number, before: Kind, bits: number, key: Buffer, keyStart: number): void {
    const { columns } = this;
    const after = (bits & Bit.deleted) === 0 ? Kind.live : Kind.tombstone;
    if (before === after) return;
    if (isEventKey(key, keyStart)) return;
    if (before === Kind.live) (columns.items[vb] as number) -= 1;
    if (before === Kind.tombstone) columns.uncountTombstone(vb);
    if (after === Kind.live) (columns.items[vb] as number) += 1;
    else (columns.tombstones[vb] as number) += 1;
    if (before !== Kind.live && after !== Kind.live) return;
    const slot = this.collections.countingSlot(key, keyStart, vb);
    this.collections.addItems(slot, vb, after === Kind.live ? 1 : -1);
  }
}

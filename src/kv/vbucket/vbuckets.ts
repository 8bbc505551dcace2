// All vbuckets of a bucket: looking up a key, and the few ways in which a document's version changes. The caller checks whether
// a change is permitted; here it gets its seqno, CAS and revision, and counts and lists are updated.
import { assert } from '#base/assert.ts';
import type { IncomingVersion, ItemView, MutationResult } from '../data/documents.ts';
import { isEventKey } from '../data/system-events.ts';
import { hashKey } from '../memory/hash.ts';
import { Heap } from '../memory/heap.ts';
import { KeyFilter } from '../memory/key-filter.ts';
import { KeyIndex } from '../memory/key-index.ts';
import { Bit, maxRows, Word } from '../memory/layout.ts';
import { advanceCas, raiseCas } from './cas-clock.ts';
import { appendDirty, supersedeDirty, unlinkDirty } from './dirty-list.ts';
import { FailoverLogs } from './failover-logs.ts';
import { adoptedMemory, type Draft, draftBytes, Items } from './items.ts';
import type { LiveCollections } from './live-collections.ts';
import type { Now } from './now.ts';
import { RecentChanges } from './recent-changes.ts';
import { VbucketRows } from './rows.ts';

export interface VbucketsOptions {
  count: number;
  now: Now;
  collections: LiveCollections;
  hashSeed: number;
  /** Items are written to a disk through cuts; without a disk there is no list of dirty items. */
  persistent: boolean;
}

/**
 * Position of a key: filled by `look`, owned by the caller that looks up, moved along by the changes it is passed to, and valid
 * until another change. `address` is 0 when the key is not in memory.
 */
export interface Place {
  row: number;
  hash: number;
  slot: number;
  address: number;
}

export const emptyPlace = (): Place => ({ row: 0, hash: 0, slot: -1, address: 0 });

/** What another node has given a version. */
export interface MadeVersion {
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
  readonly rows: VbucketRows;
  readonly failovers: FailoverLogs;
  readonly recent: RecentChanges;
  readonly now: Now;
  readonly index: KeyIndex;
  /** Keys that may be on disk though they are not in memory. */
  readonly away: KeyFilter;
  private readonly collections: LiveCollections;
  private readonly hashSeed: number;
  private readonly persistent: boolean;
  private readonly applied: MutationResult = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };

  constructor(options: VbucketsOptions) {
    assert(options.count <= maxRows, 'an item has ten bits for its vbucket');
    this.rows = new VbucketRows(options.count);
    this.failovers = new FailoverLogs(options.count);
    this.recent = new RecentChanges(this.rows);
    this.index = new KeyIndex(this.heap, options.count);
    this.away = new KeyFilter(options.count);
    this.now = options.now;
    this.collections = options.collections;
    this.hashSeed = options.hashSeed;
    this.persistent = options.persistent;
  }

  hash(key: Buffer, start: number, end: number): number {
    return hashKey(key, start, end, this.hashSeed);
  }

  /** Points `place` at a key; returns its item's address, or 0. */
  look(place: Place, row: number, hash: number, key: Buffer, start: number, end: number): number {
    const { index } = this;
    const slot = index.locate(row, hash, key, start, end);
    place.row = row;
    place.hash = hash;
    place.slot = slot;
    return (place.address = slot < 0 ? 0 : index.address(row, slot));
  }

  /** Points `place` at the key whose pending version is at `pending`; false when there is none. */
  lookForPending(place: Place, row: number, hash: number, pending: number): boolean {
    const { index, items } = this;
    const slot = index.locateWhere(row, hash, (address) => {
      if (address === pending) return true;
      const isPaired = (items.state(address) & Bit.hasPending) !== 0;
      return isPaired && items.word(address, Word.lockOrPending) === pending;
    });
    if (slot >= 0) Object.assign(place, { row, hash, slot, address: index.address(row, slot) });
    return slot >= 0;
  }

  /** Points `place` at an item found by a walk through memory. */
  lookAt(place: Place, address: number): void {
    const { index, items } = this;
    const row = items.row(address);
    const hash = this.hash(items.page(address), items.keyStart(address), items.valueStart(address));
    place.row = row;
    place.hash = hash;
    place.slot = index.locateAddress(row, hash, address);
    place.address = address;
  }

  show(address: number, view: ItemView): void {
    this.items.show(address, this.now, view);
  }

  /** Bytes by which memory would grow for this draft of the item at `place`. */
  growth({ address }: Place, draft: Draft): number {
    const bytes = draftBytes(draft);
    return address !== 0 && this.heap.fits(address, bytes) ? 0 : this.heap.growth(bytes);
  }

  /** Writes the draft as the new version at `place`; false when there is no memory. */
  write(place: Place, draft: Draft, result: MutationResult): boolean {
    const { heap, items, rows } = this;
    const { row, address: old } = place;
    const target = this.memoryFor(draft, old, draftBytes(draft));
    if (target === 0) return false;
    const before = this.kind(old);
    const rev = this.nextRev(row, old);
    if (old !== 0) supersedeDirty(rows, items, row, old, (rows.highSeqno[row] as number) + 1);
    this.noteValueReplaced(row, old);
    items.write(target, row, draft, target !== old);
    draft.memory = null;
    if (old !== 0) items.setBits(target, Bit.used);
    this.stamp(place, target, rev, result);
    this.count(row, before, draft.bits, draft.key, draft.keyStart);
    if ((draft.bits & Bit.deleted) !== 0 && !isEventKey(draft.key, draft.keyStart))
      this.noteDeletedRev(row, rev);
    if (target !== old) place.address = this.put(place, target);
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
  writeIncoming(place: Place, draft: Draft, incoming: IncomingVersion, result: MutationResult): boolean {
    if (!this.write(place, draft, result)) return false;
    const { items, rows } = this;
    const { row, address } = place;
    const { rev, casHi, casLo } = incoming;
    items.setSeqnoAndRev(address, result.seqno, rev);
    if ((draft.bits & Bit.deleted) !== 0) this.noteDeletedRev(row, rev);
    if (incoming.regeneratesCas) return true;
    items.setCas(address, casHi, casLo);
    raiseCas(rows, row, { hi: casHi, lo: casLo, extra: 0 });
    result.casHi = casHi;
    result.casLo = casLo;
    return true;
  }

  /**
   * Takes a version that the active of the vbucket made, as it is; its seqno must be above all in the row. False when there is no
   * memory.
   */
  apply(place: Place, draft: Draft, version: MadeVersion): boolean {
    const { items, recent, rows } = this;
    const { row } = place;
    const { seqno, rev } = version;
    const highSeqno = rows.highSeqno[row] as number;
    const [hi, lo] = [rows.casHi[row] as number, rows.casLo[row] as number];
    const maxDeletedRev = rows.maxDeletedRev[row] as number;
    recent.skip(row, seqno);
    rows.highSeqno[row] = seqno - 1;
    if (!this.write(place, draft, this.applied)) {
      rows.highSeqno[row] = highSeqno;
      return false;
    }
    // What the active gave replaces what `write` would give.
    items.setSeqnoAndRev(place.address, seqno, rev);
    items.setCas(place.address, version.casHi, version.casLo);
    rows.casHi[row] = hi;
    rows.casLo[row] = lo;
    raiseCas(rows, row, { hi: version.casHi, lo: version.casLo, extra: 0 });
    rows.maxDeletedRev[row] = maxDeletedRev;
    if ((draft.bits & Bit.deleted) !== 0 && !isEventKey(draft.key, draft.keyStart))
      this.noteDeletedRev(row, rev);
    return true;
  }

  /** Gives the item at `place` a new expiry; the item does not move. */
  changeExpiry(place: Place, expiry: number, result: MutationResult): void {
    const { row, address } = place;
    supersedeDirty(this.rows, this.items, row, address, (this.rows.highSeqno[row] as number) + 1);
    this.items.setWord(address, Word.expiry, expiry);
    this.items.clearBits(address, Bit.locked | Bit.casUnstored);
    this.stamp(place, address, this.items.rev(address) + 1, result);
  }

  /** Writes the draft as a pending version beside the one at `place`; false when there is no memory. */
  writePending(place: Place, draft: Draft, result: MutationResult): boolean {
    const { items, rows } = this;
    const { row, address: old } = place;
    const target = this.memoryFor(draft, 0, draftBytes(draft));
    if (target === 0) return false;
    const rev = this.nextRev(row, old);
    if (old !== 0) supersedeDirty(rows, items, row, old, (rows.highSeqno[row] as number) + 1);
    items.write(target, row, draft, true);
    draft.memory = null;
    items.setBits(target, Bit.pending);
    this.stamp(place, target, rev, result);
    // Now, since the cut that writes it carries the highest such revision.
    if ((draft.bits & Bit.deleted) !== 0) this.noteDeletedRev(row, rev);
    if (old === 0) place.address = this.put(place, target);
    else this.pair(old, target);
    return true;
  }

  /** The address of the pending version at `place`. */
  pendingAt({ address }: Place): number {
    const isAlone = (this.items.state(address) & Bit.pending) !== 0;
    return isAlone ? address : this.items.word(address, Word.lockOrPending);
  }

  /** Makes the pending version at `place` the committed one. */
  commitPending(place: Place): void {
    const { items } = this;
    const { row, address } = place;
    const pending = this.pendingAt(place);
    const alone = pending === address;
    const before = alone ? Kind.none : this.kind(address);
    items.clearBits(pending, Bit.pending);
    const page = this.heap.bytes[pending >>> 16] as Buffer;
    const bits = items.state(pending) & Bit.deleted;
    this.count(row, before, bits, page, items.keyStart(pending));
    if (alone) return;
    this.noteValueReplaced(row, address);
    this.index.replace(row, place.slot, pending);
    this.heap.free(address);
    place.address = pending;
  }

  /** Removes the item at `place` without a tombstone: its collection was dropped. */
  forget(place: Place): void {
    const { items, rows } = this;
    const { row, address } = place;
    const isEvent = isEventKey(items.page(address), items.keyStart(address));
    if (!isEvent && (items.state(address) & Bit.deleted) !== 0) (rows.tombstones[row] as number) -= 1;
    else if (!isEvent) (rows.items[row] as number) -= 1;
    if ((items.state(address) & Bit.dirty) !== 0) unlinkDirty(rows, items, row, address);
    this.noteValueReplaced(row, address);
    this.recent.lose(row, items.seqno(address));
    this.index.remove(row, place.slot);
    this.heap.free(address);
  }

  /** As `forget`, for an item of a live collection. */
  forgetCounted(place: Place): void {
    const { address } = place;
    const page = this.items.page(address);
    if (this.kind(address) === Kind.live) {
      this.collections.addItems(this.collections.slotOf(page, this.items.keyStart(address)), -1);
    }
    this.forget(place);
  }

  /** Inserts a stored item; `place` was looked up for its key. False when there is no memory. */
  restore(
    place: Place,
    draft: Draft,
    stored: { casHi: number; casLo: number; seqno: number; rev: number },
  ): boolean {
    const { items } = this;
    const { row } = place;
    const target = this.heap.allocate(draftBytes(draft));
    if (target === 0) return false;
    items.write(target, row, draft, true);
    items.setCas(target, stored.casHi, stored.casLo);
    items.setSeqnoAndRev(target, stored.seqno, stored.rev);
    const old = place.address;
    this.noteValueReplaced(row, old);
    place.address = this.put(place, target);
    if (old !== 0) this.heap.free(old);
    return true;
  }

  /** Counts an item that is on disk, before it is loaded or left there. `place` was looked up for its key. */
  countStored({ row, address }: Place, draft: Draft): void {
    this.count(row, this.kind(address), draft.bits, draft.key, draft.keyStart);
  }

  /** Removes all documents and history; CAS clocks continue, so that no value is given out twice. */
  clear(): void {
    this.heap.clear();
    for (let row = 0; row < this.rows.count; row++) this.clearRow(row);
  }

  /** Frees every item of a row, whose file turned out to be unreadable. */
  drop(row: number): void {
    const { index } = this;
    for (let place = 0; place < index.end(row); place += 2) {
      const address = index.address(row, index.slotAt(row, place));
      if (address !== 0) this.heap.free(address);
    }
    this.clearRow(row);
  }

  private clearRow(row: number): void {
    this.index.clear(row);
    this.away.clear(row);
    this.failovers.clear(row);
    this.rows.clear(row);
    this.collections.forgetSeqnos(row);
  }

  private noteValueReplaced(row: number, old: number): void {
    if (old !== 0 && (this.items.state(old) & Bit.valueAway) !== 0)
      (this.rows.valuesAway[row] as number) -= 1;
  }

  private kind(address: number): Kind {
    if (address === 0) return Kind.none;
    return (this.items.state(address) & Bit.deleted) === 0 ? Kind.live : Kind.tombstone;
  }

  private nextRev(row: number, old: number): number {
    return 1 + (old === 0 ? (this.rows.maxDeletedRev[row] as number) : this.items.rev(old));
  }

  private noteDeletedRev(row: number, rev: number): void {
    if (rev > (this.rows.maxDeletedRev[row] as number)) this.rows.maxDeletedRev[row] = rev;
  }

  private stamp(place: Place, address: number, rev: number, result: MutationResult): void {
    const { items, rows } = this;
    const { row } = place;
    advanceCas(rows, row, this.now);
    const seqno = (rows.highSeqno[row] as number) + 1;
    rows.highSeqno[row] = seqno;
    const casHi = rows.casHi[row] as number;
    const casLo = rows.casLo[row] as number;
    items.setCas(address, casHi, casLo);
    items.setSeqnoAndRev(address, seqno, rev);
    if (this.persistent) appendDirty(rows, items, row, address);
    this.recent.note(row, seqno, this.hashAt(place));
    this.collections.noteSeqno(items.page(address), items.keyStart(address), row, seqno);
    result.casHi = casHi;
    result.casLo = casLo;
    result.seqno = seqno;
    result.pending = 0;
  }

  /** A caller that walks slots has no hash in `place`; a caller that adds a key has no slot yet. */
  private hashAt({ row, slot, hash, address }: Place): number {
    return address === 0 ? hash : this.index.hash(row, slot);
  }

  /** Points the key's slot at `target`, or adds one. */
  private put(place: Place, target: number): number {
    const { index } = this;
    if (place.address === 0) index.insert(place.row, place.hash, target);
    else index.replace(place.row, place.slot, target);
    return target;
  }

  private pair(committed: number, pending: number): void {
    this.items.clearBits(committed, Bit.locked);
    this.items.setBits(committed, Bit.hasPending);
    this.items.setWord(committed, Word.lockOrPending, pending);
  }

  private count(row: number, before: Kind, bits: number, key: Buffer, keyStart: number): void {
    const { rows } = this;
    const after = (bits & Bit.deleted) === 0 ? Kind.live : Kind.tombstone;
    if (before === after) return;
    if (isEventKey(key, keyStart)) return;
    if (before === Kind.live) (rows.items[row] as number) -= 1;
    if (before === Kind.tombstone) (rows.tombstones[row] as number) -= 1;
    if (after === Kind.live) (rows.items[row] as number) += 1;
    else (rows.tombstones[row] as number) += 1;
    if (before !== Kind.live && after !== Kind.live) return;
    this.collections.addItems(this.collections.slotOf(key, keyStart), after === Kind.live ? 1 : -1);
  }
}

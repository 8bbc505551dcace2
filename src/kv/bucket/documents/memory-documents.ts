// The documents of a bucket, answered from memory: decides whether a change is permitted and makes it.
import { Datatype, Status } from '#wire/status.ts';
import type { BucketType } from '../../admin.ts';
import {
  type DocumentResult,
  type Documents,
  DurabilityLevel,
  emptyItemView,
  type FailoverEntry,
  type FetchedDocument,
  type IncomingVersion,
  type ItemView,
  type MutationRequest,
  type MutationResult,
  notResident,
  type StoredDocument,
  StoreMode,
  type WhenFetched,
} from '../../data/documents.ts';
import { VbucketState } from '../../data/vbucket-state.ts';
import { Bit, keyBytesMax, Word } from '../../memory/layout.ts';
import { advanceCas, nextCas } from '../../vbucket/cas-clock.ts';
import { checkIncoming } from '../../vbucket/conflict.ts';
import { draftOf, keepAll, keepForTombstone, keepXattrs } from '../../vbucket/drafts.ts';
import type { Expirer } from '../../vbucket/expirer.ts';
import { absoluteExpiry, capExpiry, lockSeconds } from '../../vbucket/expiry.ts';
import { emptyPosition } from '../../vbucket/item-position.ts';
import { emptyDraft } from '../../vbucket/items.ts';
import type { LiveCollections } from '../../vbucket/live-collections.ts';
import { checkExisting, checkStore, isInFlight } from '../../vbucket/preconditions.ts';
import type { Residency } from '../../vbucket/residency.ts';
import { checkCopy, checkState, makesSeqnos, servedState } from '../../vbucket/serving.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import type { DurableWrites } from '../durability/durable-writes.ts';
import type { VbucketProgress } from '../durability/progress.ts';
import { FetchedDocuments } from '../fetch/fetched-documents.ts';
import { type BucketRules, checkDurability } from '../rules.ts';
import type { MemoryDocumentsOptions } from './memory-documents-options.ts';
import { WriteRoom } from './write-room.ts';

/** The access to an item is recorded already where `used` is set and `pending` is not. */
const accessBits = Bit.used | Bit.pending;

export class MemoryDocuments implements Documents {
  readonly vbucketCount: number;
  onResolved: (token: number, status: Status) => void = () => {};
  /** The status that refuses every change while it is not success: the disk is full or has failed. */
  writeRefusal: Status = Status.success;
  private readonly options: MemoryDocumentsOptions;
  private readonly type: BucketType;
  private readonly rules: BucketRules;
  private readonly vbuckets: Vbuckets;
  private readonly collections: LiveCollections;
  private readonly durableWrites: DurableWrites;
  private readonly progress: VbucketProgress;
  private readonly residency: Residency;
  private readonly expirer: Expirer;
  private readonly fetched: FetchedDocuments;
  private readonly room: WriteRoom;
  private readonly onDirty: (vb: number, isUrgent: boolean) => void;
  /** The key of the current call. */
  private readonly position = emptyPosition();
  private readonly draft = emptyDraft();
  private readonly visited = emptyItemView();
  /** A cache distributes keys by their hash, whichever vbucket a client names. */
  private readonly isCache: boolean;

  constructor(options: MemoryDocumentsOptions) {
    this.options = options;
    this.type = options.type;
    this.rules = options.rules;
    this.vbuckets = options.vbuckets;
    this.collections = options.collections;
    this.durableWrites = options.durableWrites;
    this.progress = options.progress;
    this.residency = options.residency;
    this.expirer = options.expirer;
    this.fetched = new FetchedDocuments(options.vbuckets, options.reads);
    this.room = new WriteRoom(options);
    this.onDirty = options.onDirty;
    this.vbucketCount = options.vbuckets.columns.count;
    this.isCache = options.type === 'cache';
  }

  get memUsed(): number {
    return this.options.keeper.usedBytes;
  }

  /** Writes refused with a temporary failure: memory had no room, or too many bytes of the vbucket waited for the disk. */
  get memoryRefusals(): number {
    return this.room.refusals;
  }

  isActive(vb: number): boolean {
    return this.refusal(vb) === Status.success;
  }

  stateOf(vb: number): VbucketState {
    return servedState(this.vbuckets.columns, vb, this.vbuckets.now);
  }

  find(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): DocumentResult {
    const status = this.findAny(vb, key, keyStart, keyEnd, view);
    return status === Status.success && view.isDeleted ? Status.keyNotFound : status;
  }

  findAny(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): DocumentResult {
    return this.showLocated(this.locateActive(vb, key, keyStart, keyEnd), key, keyStart, keyEnd, view, true);
  }

  findMeta(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): DocumentResult {
    return this.showLocated(this.locateActive(vb, key, keyStart, keyEnd), key, keyStart, keyEnd, view, false);
  }

  findReplica(vb: number, key: Buffer, keyStart: number, keyEnd: number, view: ItemView): DocumentResult {
    const refusal = checkCopy(this.vbuckets.columns, vb, this.vbuckets.now);
    const located = refusal === Status.success ? this.locate(vb, key, keyStart, keyEnd) : refusal;
    return this.showLocated(located, key, keyStart, keyEnd, view, true);
  }

  awaitDisk(done: WhenFetched): void {
    this.fetched.load(done);
  }

  provideFetched(fetched: FetchedDocument | null): void {
    this.fetched.provideFetched(fetched);
  }

  readStored(done: (found: StoredDocument | null | Status) => void): void {
    this.fetched.read(done);
  }

  /** Looks a document up so that it expires if due; reads it first where it is on disk only. */
  visit(vb: number, key: Buffer, done: (result: DocumentResult) => void): void {
    const find = (): DocumentResult => this.findMeta(vb, key, 0, key.length, this.visited);
    const status = find();
    if (status !== notResident) done(status);
    else this.awaitDisk((fetched) => done(typeof fetched === 'object' ? find() : fetched));
  }

  store(request: MutationRequest, result: MutationResult): DocumentResult {
    const refusal = this.admit(request);
    if (refusal !== Status.success) return refusal;
    const { items, now } = this.vbuckets;
    const status = checkStore(request, items, this.position.address, now);
    if (status !== Status.success) return status;
    if (request.keepXattrs && this.areXattrsNonResident()) return this.prepareFetchOf(request);
    draftOf(request, this.draft);
    if (request.mode === StoreMode.remove) this.markDeleted();
    else this.completeStore(request);
    return this.change(request, result);
  }

  remove(request: MutationRequest, result: MutationResult): DocumentResult {
    const refusal = this.admit(request);
    if (refusal !== Status.success) return refusal;
    const { position, vbuckets } = this;
    const status = checkExisting(request, vbuckets.items, position.address, vbuckets.now);
    if (status !== Status.success) return status;
    if (this.areXattrsNonResident()) return this.prepareFetchOf(request);
    draftOf(request, this.draft);
    keepForTombstone(this.draft, vbuckets.items, position.address);
    this.markDeleted();
    return this.change(request, result);
  }

  storeIncoming(request: MutationRequest, incoming: IncomingVersion, result: MutationResult): DocumentResult {
    const refusal = this.locateForChange(request);
    if (refusal !== Status.success) return refusal;
    const { draft, position, vbuckets } = this;
    const { items, now } = vbuckets;
    const status = checkIncoming(request, incoming, items, position.address, now);
    if (status !== Status.success) return status;
    draftOf(request, draft);
    if (incoming.isDeletion) this.markDeleted();
    else draft.expiry = this.capped(request, request.expiry);
    if (incoming.isExpiration) draft.bits |= Bit.expired;
    const room = this.room.check(this.position, draft);
    if (room !== Status.success) return room;
    if (!vbuckets.writeIncoming(position, draft, incoming, result)) return Status.outOfMemory;
    if (!incoming.regeneratesCas) this.options.drift.note(incoming.casHi, incoming.casLo);
    this.onDirty(position.vb, false);
    return Status.success;
  }

  touch(request: MutationRequest, result: MutationResult, view: ItemView): DocumentResult {
    const refusal = this.admit(request);
    if (refusal !== Status.success) return refusal;
    const { position, vbuckets } = this;
    const status = checkExisting(request, vbuckets.items, position.address, vbuckets.now);
    if (status !== Status.success) return status;
    if (this.isValueNonResident()) return this.prepareFetchOf(request);
    const expiry = this.expiryOf(request);
    if (this.progress.mustWait(position.vb, this.levelOf(request)))
      return this.touchDurably(request, expiry, result, view);
    vbuckets.changeExpiry(position, expiry, result);
    this.onDirty(position.vb, false);
    vbuckets.show(position.address, view);
    return Status.success;
  }

  lock(
    vb: number,
    key: Buffer,
    keyStart: number,
    keyEnd: number,
    seconds: number,
    result: MutationResult,
    view: ItemView,
  ): DocumentResult {
    const refusal = this.locateActive(vb, key, keyStart, keyEnd);
    if (refusal !== Status.success) return refusal;
    const { items, now, columns } = this.vbuckets;
    const { address, vb: memoryVb } = this.position;
    if (isInFlight(items, address)) return Status.syncWriteInProgress;
    if (address === 0 || !items.isLive(address, now.seconds)) return Status.keyNotFound;
    if (items.isLocked(address, now)) return Status.locked;
    if (this.isValueNonResident()) return this.fetched.prepareFetch(this.position, key, keyStart, keyEnd);
    this.peekNext(result);
    result.seqno = items.seqno(address);
    if (!items.lockItem(address, now.lockEnd(lockSeconds(seconds)), result, now))
      return Status.temporaryFailure;
    advanceCas(columns, memoryVb, now);
    this.vbuckets.show(address, view);
    return Status.success;
  }

  unlock(
    vb: number,
    key: Buffer,
    keyStart: number,
    keyEnd: number,
    casHi: number,
    casLo: number,
  ): DocumentResult {
    const refusal = this.locateActive(vb, key, keyStart, keyEnd);
    if (refusal !== Status.success) return refusal;
    const { items, now } = this.vbuckets;
    const { address } = this.position;
    if (address === 0 || !items.isLive(address, now.seconds)) return Status.keyNotFound;
    if (isInFlight(items, address) || !items.isLocked(address, now)) return Status.notLocked;
    if (!items.isLockCas(address, casHi, casLo)) return Status.locked;
    items.unlockItem(address);
    return Status.success;
  }

  isLockCas(casHi: number, casLo: number): boolean {
    return this.vbuckets.items.isLockCas(this.position.address, casHi, casLo);
  }

  makeRoom(): void {
    this.room.prepare();
  }

  peekNext(result: MutationResult): void {
    const { vb } = this.position;
    nextCas(this.vbuckets.columns, vb, this.vbuckets.now, result);
    result.seqno = this.highSeqno(vb) + 1;
    result.pending = 0;
  }

  highSeqno(vb: number): number {
    return this.vbuckets.columns.highSeqno[vb] ?? 0;
  }

  collectionSeqno(vb: number, collection: number): number {
    return this.durableWrites.newestResolved(vb, this.collections.highSeqno(collection, vb));
  }

  persistedSeqno(vb: number): number {
    return this.progress.persistedSeqno(vb);
  }

  safePersistedSeqno(vb: number): number {
    return this.progress.safePersistedSeqno(vb);
  }

  watchPersisted(vb: number): number {
    this.options.onPersistenceAwaited(vb);
    return this.safePersistedSeqno(vb);
  }

  failoverLog(vb: number): readonly FailoverEntry[] {
    return this.vbuckets.failovers.entries(vb);
  }

  whenPersisted(vb: number, seqno: number, timeoutMs: number, done: (persisted: boolean) => void): void {
    const isPersisted = this.safePersistedSeqno(vb) >= seqno;
    if (isPersisted || this.type !== 'native' || this.writeRefusal !== Status.success) {
      done(isPersisted);
      return;
    }
    this.progress.wait(vb, seqno, timeoutMs, done);
    this.onDirty(vb, true);
  }

  /** Shows the item that was located with the result `located`. */
  private showLocated(
    located: DocumentResult,
    key: Buffer,
    keyStart: number,
    keyEnd: number,
    view: ItemView,
    needsValue: boolean,
  ): DocumentResult {
    const { position } = this;
    const { items, now } = this.vbuckets;
    if (located !== Status.success) return located === notResident ? this.fetched.show(view) : located;
    const { address } = position;
    if (address === 0) return Status.keyNotFound;
    const state = items.state(address);
    if ((state & accessBits) !== Bit.used) {
      if ((state & Bit.pending) !== 0) return Status.keyNotFound;
      items.noteUse(address);
    }
    if ((state & Bit.deleted) === 0 && items.isExpired(address, now.seconds)) {
      if (!makesSeqnos(this.vbuckets.columns, position.vb)) return Status.keyNotFound;
      if (this.expirer.needsValue(address)) return this.fetchToExpire(key, keyStart, keyEnd);
      if (this.writeRefusal !== Status.success || !this.expirer.expire(position)) return Status.keyNotFound;
    } else if (needsValue && (state & Bit.valueNonResident) !== 0)
      return this.showNonResident(key, keyStart, keyEnd, view);
    this.vbuckets.show(position.address, view);
    return Status.success;
  }

  /** Shows the item at `position`, whose value is on disk, if that was read. */
  private showNonResident(key: Buffer, keyStart: number, keyEnd: number, view: ItemView): DocumentResult {
    this.fetched.prepareFetch(this.position, key, keyStart, keyEnd);
    return this.fetched.showWithValue(this.position, view);
  }

  /** Requests the value of the expired item at `position`: the tombstone keeps a part of the value. The item stays if memory had no room for the value. */
  private fetchToExpire(key: Buffer, keyStart: number, keyEnd: number): DocumentResult {
    this.fetched.prepareFetch(this.position, key, keyStart, keyEnd);
    return this.fetched.hasVersion() ? Status.keyNotFound : notResident;
  }

  private refusal(vb: number): Status {
    return checkState(this.vbuckets.columns, this.isCache ? 0 : vb, this.vbuckets.now, VbucketState.active);
  }

  /** Finds the key, or returns why this vbucket does not answer. */
  private locateActive(vb: number, key: Buffer, keyStart: number, keyEnd: number): DocumentResult {
    const refusal = this.refusal(vb);
    if (refusal !== Status.success) return refusal;
    const { events } = this.options;
    if (events.isBehind && !events.catchUp(vb)) return Status.temporaryFailure;
    return this.locate(vb, key, keyStart, keyEnd);
  }

  private locate(vb: number, key: Buffer, keyStart: number, keyEnd: number): DocumentResult {
    const hash = this.vbuckets.hash(key, keyStart, keyEnd);
    // A cache bucket ignores the vbucket of a request: the hash of the key spreads its documents over the vbuckets in memory.
    const memoryVb = this.isCache ? (hash >>> 16) % this.vbucketCount : vb;
    if (this.vbuckets.locate(this.position, memoryVb, hash, key, keyStart, keyEnd) !== 0)
      return Status.success;
    if (!this.residency.mayBeOnDisk(memoryVb, hash, key, keyStart, keyEnd)) return Status.success;
    return this.fetched.prepareFetch(this.position, key, keyStart, keyEnd);
  }

  /** Whether the value of the item at `position` is on disk only. */
  private isValueNonResident(): boolean {
    return (this.vbuckets.items.state(this.position.address) & Bit.valueNonResident) !== 0;
  }

  /** Whether xattrs that outlive a deletion are on disk only. */
  private areXattrsNonResident(): boolean {
    return this.position.address !== 0 && this.expirer.needsValue(this.position.address);
  }

  private prepareFetchOf({ key, keyStart, keyEnd }: MutationRequest): DocumentResult {
    return this.fetched.prepareFetch(this.position, key, keyStart, keyEnd);
  }

  /** As `locateForChange`, for changes by clients: the level must be one this node can meet. */
  private admit(request: MutationRequest): DocumentResult {
    const refusal = this.locateForChange(request);
    if (refusal !== Status.success) return refusal;
    return checkDurability(this.levelOf(request), this.type, this.progress, this.position.vb);
  }

  /** As `locateActive`, for changes: the bucket must accept writes. */
  private locateForChange(request: MutationRequest): DocumentResult {
    const { keyStart, keyEnd } = request;
    // First, since eviction moves items.
    if (!request.hasRoom) this.room.prepare();
    const refusal = this.locateActive(request.vb, request.key, keyStart, keyEnd);
    if (refusal !== Status.success) return refusal;
    if (this.writeRefusal !== Status.success) return this.writeRefusal;
    if (keyEnd - keyStart > keyBytesMax) return Status.invalidArguments;
    return this.collections.slotOf(request.key, keyStart) < 0 ? Status.unknownCollection : Status.success;
  }

  private levelOf(request: MutationRequest): DurabilityLevel {
    return Math.max(request.durability, this.rules.durabilityMinLevel) as DurabilityLevel;
  }

  private expiryOf(request: MutationRequest): number {
    return this.capped(request, absoluteExpiry(request.expiry, this.vbuckets.now.seconds));
  }

  private capped(request: MutationRequest, expiry: number): number {
    const slot = this.collections.slotOf(request.key, request.keyStart);
    const maxTtl = this.collections.maxTtl(slot, this.rules.maxTtl);
    return capExpiry(expiry, maxTtl, this.vbuckets.now.seconds);
  }

  private markDeleted(): void {
    this.draft.bits = Bit.deleted;
    this.draft.expiry = this.vbuckets.now.seconds;
  }

  /** Adds what a stored document takes over from the existing one. */
  private completeStore(request: MutationRequest): void {
    const { address } = this.position;
    const { items, now } = this.vbuckets;
    const exists = address !== 0 && items.isLive(address, now.seconds);
    const bringsXattrs = (request.datatype & Datatype.xattr) !== 0;
    if (request.keepXattrs && exists && !bringsXattrs) keepXattrs(this.draft, items, address);
    this.draft.expiry =
      request.preserveExpiry && exists ? items.word(address, Word.expiry) : this.expiryOf(request);
  }

  /** Writes the draft at once, or as a pending version when the level requires the disk or copies. */
  private change(request: MutationRequest, result: MutationResult): Status {
    const { draft, position, progress, vbuckets } = this;
    const status = this.room.check(position, draft);
    if (status !== Status.success) return status;
    if (progress.mustWait(position.vb, this.levelOf(request))) return this.changeDurably(request, result);
    if (!vbuckets.write(position, draft, result)) return Status.outOfMemory;
    this.onDirty(position.vb, false);
    return Status.success;
  }

  private changeDurably(request: MutationRequest, result: MutationResult): Status {
    if (this.durableWrites.isFull) return Status.temporaryFailure;
    const level = this.levelOf(request);
    if (!this.vbuckets.writePending(this.position, this.draft, result)) return Status.outOfMemory;
    result.pending = this.durableWrites.add(this.position, result.seqno, level, request.durabilityTimeoutMs);
    this.onDirty(this.position.vb, level !== DurabilityLevel.majority);
    return Status.success;
  }

  private touchDurably(
    request: MutationRequest,
    expiry: number,
    result: MutationResult,
    view: ItemView,
  ): Status {
    const { draft, vbuckets } = this;
    const { address } = this.position;
    draftOf(request, draft);
    keepAll(draft, vbuckets.items, address);
    draft.expiry = expiry;
    if (this.room.isExceededBy(this.position, draft)) return Status.temporaryFailure;
    const status = this.changeDurably(request, result);
    if (status === Status.success) vbuckets.show(address, view);
    return status;
  }
}

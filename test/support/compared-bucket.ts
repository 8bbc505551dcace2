// Compares each reply of a bucket with its model when the operation takes effect, which may be after a read from disk
// during which other operations complete.
import assert from 'node:assert/strict';
import type { BucketType, EvictionPolicy, Manifest } from '#kv/admin.ts';
import type { BucketRules } from '#kv/bucket/rules.ts';
import {
  type DocumentResult,
  DurabilityLevel,
  type FailoverEntry,
  type FetchedDocument,
  type ItemView,
  notResident,
  type StoreMode,
} from '#kv/data/documents.ts';
import { Datatype, Status } from '#wire/status.ts';
import { BucketUnderTest } from './a-bucket.ts';
import { casPair, changeAnswers, isExpired, plusOne, type State, statesOf } from './bucket-expectations.ts';
import {
  BucketModel,
  type Content,
  type Doc,
  hasXattrs,
  nothing,
  type Place,
  textOf,
  tombstoneOf,
} from './bucket-model.ts';
import type { DiskUnderTest } from './disk-under-test.ts';
import { manifestOf } from './manifest-of.ts';
import { ManualClock } from './manual-clock.ts';
import { type Random, randomBytes } from './random.ts';

export const vbucketCount = 8;
export const quotaAmple = 2 ** 30;
const fileCount = 4;

export type CasChoice = 'none' | 'right' | 'wrong';

export interface StoreChange {
  mode: StoreMode;
  content: Content;
  flags: number;
  expiry: number;
  cas: CasChoice;
  preserveExpiry: boolean;
  keepXattrs: boolean;
  countsTombstone: boolean;
  durability: DurabilityLevel;
}

export interface RunOptions {
  type: BucketType;
  policy: EvictionPolicy;
  disk: DiskUnderTest | null;
  random: Random;
}

export class ComparedBucket {
  readonly model = new BucketModel(vbucketCount);
  readonly counts = { operations: 0, restarts: 0, crashes: 0, fetches: 0, evictions: 0, expired: 0 };
  protected readonly options: RunOptions;
  protected readonly rules: BucketRules;
  protected tested: BucketUnderTest;
  protected incarnation = 1;
  protected manifest: Manifest = manifestOf([0, 8], 0);
  /** Ids of the existing collections. */
  protected collections = [0, 8];
  protected lastCollection = 8;
  /** The run of the simulated process: a crash begins the next one, and drops requests that wait for the disk. */
  protected processRun = 0;
  /** Requests that wait for the disk. */
  protected waiting = 0;
  protected isEnding = false;
  protected isPurging = false;
  /** Durable writes that are not resolved, by token. */
  protected readonly tokens = new Map<number, { vb: number; seqno: number }>();
  /** The highest seqno of an acknowledged durable write, by vbucket. */
  protected readonly durableSeqnos = Array.from({ length: vbucketCount }, () => 0);
  /** Vbuckets in which the removal of a dropped collection may change seqnos. */
  protected readonly swept = new Set<number>();
  /** The first failed comparison. */
  protected difference: unknown = null;
  /** The last call had a document that was read from disk: if it has expired, the call does not delete it. */
  private isFetched = false;

  constructor(options: RunOptions) {
    this.options = options;
    this.rules = {
      quotaBytes: quotaAmple,
      maxTtl: 0,
      durabilityMinLevel: DurabilityLevel.none,
      replicaNumber: 0,
      compresses: true,
    };
    this.tested = this.open(new ManualClock());
  }

  protected open(clock: ManualClock): BucketUnderTest {
    const { disk, policy, random, type } = this.options;
    const { incarnation } = this;
    const files = disk && { folder: disk.folder, bucketUuid: 'model', incarnation, fileCount };
    const tested = new BucketUnderTest({
      type,
      ...(disk && files && { storage: { disk: disk.engine(), files } }),
      evictionPolicy: policy,
      rules: { ...this.rules },
      manifest: this.manifest,
      expiryPagerSeconds: 20,
      random: { bytes: (count) => randomBytes(random, count), uuid: () => 'not used' },
      vbucketCount,
      clock,
    });
    tested.bucket.documents.onResolved = (token, status) => this.note(() => this.resolved(token, status));
    return tested;
  }

  /** Compares when the operation takes effect: at once, or after the fetch from disk. */
  protected perform(
    place: Place,
    act: () => DocumentResult,
    compare: (status: Status) => void,
    tries = 0,
    fetched: FetchedDocument | null = null,
  ): void {
    this.counts.operations += tries === 0 ? 1 : 0;
    this.note(() => {
      this.catchUp(place.vb);
      const status = this.withFetched(fetched, act);
      // A stopping bucket does not reply.
      if (this.isEnding && status === Status.temporaryFailure) return;
      if (status !== notResident) compare(status);
      else if (fetched?.lacksRoom)
        assert.ok(this.isMemoryLow, 'a fetched document lacks room although memory is not low');
      else this.repeatAfterFetch(place, act, compare, tries);
      this.model.high[place.vb] = this.tested.bucket.documents.highSeqno(place.vb);
    });
  }

  protected repeatAfterFetch(
    place: Place,
    act: () => DocumentResult,
    compare: (status: Status) => void,
    tries: number,
  ): void {
    const { processRun } = this;
    assert.ok(tries < 20, 'a fetched document is evicted before each retry');
    this.waiting++;
    this.tested.bucket.documents.awaitDisk((answer) => {
      if (processRun !== this.processRun) return;
      this.waiting--;
      if (typeof answer === 'object') this.perform(place, act, compare, tries + 1, answer);
      else
        this.note(() =>
          assert.ok(
            answer === Status.temporaryFailure && (this.isEnding || this.isMemoryLow),
            `a read from disk failed with status ${answer}`,
          ),
        );
    });
  }

  private withFetched(fetched: FetchedDocument | null, act: () => DocumentResult): DocumentResult {
    const { documents } = this.tested.bucket;
    this.isFetched = fetched !== null && fetched.item !== null;
    documents.provideFetched(fetched);
    try {
      return act();
    } finally {
      documents.provideFetched(null);
    }
  }

  /** Runs comparisons, and keeps the first one that fails for `check`. */
  protected note(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.difference ??= error;
    }
  }

  protected get isMemoryLow(): boolean {
    return this.rules.quotaBytes < quotaAmple;
  }

  /** Applies the possible background changes since the vbucket was last compared. */
  protected catchUp(vb: number): void {
    const { bucket } = this.tested;
    const persisted = bucket.documents.persistedSeqno(vb);
    const high = bucket.documents.highSeqno(vb);
    assert.ok(persisted <= high);
    this.model.commit(vb, persisted);
    this.noteCompaction();
    const isExplained = this.swept.has(vb) || this.options.policy === 'nruEviction' || this.mayExpire(vb);
    assert.ok(high === this.model.high[vb] || isExplained, 'a document changed without an operation');
    this.model.high[vb] = high;
  }

  protected mayExpire(vb: number): boolean {
    const docs = [...(this.model.docs[vb]?.values() ?? [])];
    return docs.some((doc) => isExpired(doc, this.tested.nowSeconds));
  }

  protected noteCompaction(): void {
    if (!this.isPurging) return;
    this.isPurging = this.tested.bucket.compaction.progress !== null;
    for (const doc of this.model.versions()) {
      if (doc.deleted || isExpired(doc, this.tested.nowSeconds)) doc.mayBeGone = true;
    }
  }

  /** With low memory an ephemeral bucket may delete any document. */
  protected noteEvictions(): void {
    for (const { doc } of this.model.all()) doc.mayBeGone = true;
  }

  protected states(place: Place): State[] {
    const { clock, nowSeconds } = this.tested;
    // With low memory the bucket may have deleted any document since the last comparison.
    if (this.options.policy === 'nruEviction' && this.isMemoryLow) this.noteEvictions();
    return statesOf(this.model, place, { seconds: nowSeconds, nowMs: clock.monotonicMs() });
  }

  protected isGone(place: Place): boolean {
    return !this.collections.some((id) => isOf(place, id));
  }

  protected assertOneOf(status: Status, answers: readonly Status[]): void {
    assert.ok(answers.includes(status), `answered ${status}, expected one of ${[...new Set(answers)]}`);
  }

  /** Returns whether the change succeeded; asserts that its failure is allowed. */
  protected changeSucceeded(
    place: Place,
    status: Status,
    by: { allows: (state: State) => Status[]; durability: DurabilityLevel; isUpdate: boolean },
  ): boolean {
    this.assertOneOf(status, this.changeAnswers(place, by));
    return status === Status.success;
  }

  protected changeAnswers(
    place: Place,
    by: { allows: (state: State) => Status[]; durability: DurabilityLevel; isUpdate: boolean },
  ): Status[] {
    if (this.tested.bucket.writeFailure !== null) return [Status.temporaryFailure];
    if (this.isGone(place)) return [Status.unknownCollection];
    const isForDisk = by.durability > DurabilityLevel.majority;
    if (isForDisk && this.options.type !== 'native') return [Status.durabilityInvalidLevel];
    if (this.model.isPending(place)) return [Status.syncWriteInProgress];
    const answers = this.states(place).flatMap(by.allows);
    return this.isMemoryLow && by.isUpdate ? [...answers, Status.temporaryFailure] : answers;
  }

  protected changed(
    place: Place,
    change: Pick<Doc, 'content' | 'flags' | 'expiry' | 'deleted' | 'rev'>,
  ): void {
    const { pending, seqno } = this.tested.result;
    const next = (this.model.high[place.vb] as number) + 1;
    if (this.options.policy === 'nruEviction') assert.ok(seqno >= next);
    else assert.equal(seqno, next);
    const cas = [this.newCas(place.vb)];
    const doc: Doc = { ...change, seqno, cas, lockCas: '', lockedUntilMs: 0, mayBeGone: false };
    if (pending === 0) this.model.put(place, doc);
    else this.writePending(place, doc, pending);
  }

  protected writePending(place: Place, doc: Doc, token: number): void {
    const old = this.model.get(place);
    if (old) old.lockedUntilMs = 0;
    this.model.putPending(place, doc);
    this.tokens.set(token, { vb: place.vb, seqno: doc.seqno });
  }

  protected resolved(token: number, status: Status): void {
    const write = this.tokens.get(token);
    assert.ok(write, 'a durable write was resolved twice');
    this.tokens.delete(token);
    if (status !== Status.success) {
      assert.equal(status, Status.syncWriteAmbiguous);
      return;
    }
    assert.ok(this.tested.bucket.documents.persistedSeqno(write.vb) >= write.seqno);
    this.durableSeqnos[write.vb] = Math.max(write.seqno, this.durableSeqnos[write.vb] as number);
  }

  protected unlockAnswers(place: Place, state: State, cas: string): Status[] {
    if (state.kind !== 'live') return [Status.keyNotFound];
    if (this.model.isPending(place) || !state.locked) return [Status.notLocked];
    return changeAnswers(state, cas || '0/0');
  }

  protected compareFound(place: Place, status: Status, kind: 'find' | 'findAny', view: ItemView): void {
    const states = this.states(place);
    const has = (...kinds: State['kind'][]): boolean => states.some((state) => kinds.includes(state.kind));
    const cannotExpire =
      this.isFetched || this.model.isPending(place) || this.tested.bucket.writeFailure !== null;
    const isHidden = cannotExpire && has('expired');
    if (status === Status.keyNotFound && kind === 'find') assert.ok(has('absent', 'tombstone', 'expired'));
    else if (status === Status.keyNotFound) {
      assert.ok(isHidden || has('absent'), 'a stored document was not found');
      if (!isHidden) this.model.discard(place);
    } else {
      assert.equal(status, Status.success);
      if (view.isDeleted) this.compareTombstone(place, view);
      else this.compareLive(place, view);
    }
  }

  protected compareLive(place: Place, view: ItemView): void {
    const doc = this.model.get(place);
    assert.ok(
      doc && !doc.deleted && !isExpired(doc, this.tested.nowSeconds),
      'a document was returned as live that does not exist or has expired',
    );
    const { expiry, flags, isLocked, seqno } = view;
    assert.deepEqual(
      { value: this.tested.value, expiry, flags, isLocked, seqno },
      {
        value: textOf(doc.content),
        expiry: doc.expiry,
        flags: doc.flags,
        isLocked: doc.lockedUntilMs > this.tested.clock.monotonicMs(),
        seqno: doc.seqno,
      },
    );
    const datatype = view.datatype & ~Datatype.snappy;
    assert.equal(datatype, hasXattrs(doc.content) ? Datatype.xattr : Datatype.raw);
    this.narrow(place, doc, view);
  }

  protected compareTombstone(place: Place, view: ItemView): void {
    const doc = this.model.get(place);
    assert.ok(doc, 'a tombstone was returned of a document that never existed');
    const tombstone = doc.deleted ? doc : this.tombstoneAfter(place, doc, view);
    const { expiry, seqno } = view;
    assert.deepEqual(
      { value: this.tested.value, expiry, seqno },
      { value: textOf(tombstone.content), expiry: tombstone.expiry, seqno: tombstone.seqno },
    );
    this.narrow(place, tombstone, view);
  }

  /** Returns the tombstone of a document that has expired or was deleted since it was last compared. */
  protected tombstoneAfter(place: Place, doc: Doc, { expiry, seqno, casHi, casLo }: ItemView): Doc {
    const hasExpired = isExpired(doc, this.tested.nowSeconds);
    assert.ok(hasExpired || doc.mayBeGone, 'a document became a tombstone without an operation');
    assert.ok(seqno > doc.seqno && seqno <= this.tested.bucket.documents.highSeqno(place.vb));
    assert.ok(expiry <= this.tested.nowSeconds && (!hasExpired || expiry >= doc.expiry || doc.mayBeGone));
    const cas = [casOf({ casHi, casLo })];
    const content = doc.mayBeGone && this.tested.value === '' ? nothing : tombstoneOf(doc.content);
    const tombstone: Doc = {
      ...doc,
      content,
      expiry,
      seqno,
      cas,
      lockCas: '',
      rev: plusOne(doc.rev),
      deleted: true,
      lockedUntilMs: 0,
    };
    this.model.put(place, tombstone);
    return tombstone;
  }

  /** Replaces the possible CAS and revision by the observed ones. */
  protected narrow({ vb }: Place, doc: Doc, view: ItemView): void {
    const cas = casOf(view);
    assert.ok(doc.cas.includes(cas), 'the bucket has never returned this CAS');
    doc.cas = [cas];
    this.noteCas(vb, view);
    assert.ok(view.rev >= doc.rev.min && view.rev <= doc.rev.max, `revision ${view.rev}`);
    doc.rev = { min: view.rev, max: view.rev };
    if (doc.deleted) {
      this.model.maxDeletedRev[vb] = Math.max(view.rev, this.model.maxDeletedRev[vb] as number);
    }
  }

  /** The CAS of the last change, which must be above all earlier ones of the vbucket. */
  protected newCas(vb: number): string {
    const { result } = this.tested;
    assert.ok(bigOf(result) > (this.model.maxCas[vb] as bigint), 'the CAS is not above all earlier ones');
    this.noteCas(vb, result);
    return casOf(result);
  }

  protected noteCas(vb: number, from: CasWords): void {
    const cas = bigOf(from);
    if (cas > (this.model.maxCas[vb] as bigint)) this.model.maxCas[vb] = cas;
  }

  protected casFor(place: Place, choice: CasChoice): string {
    if (choice === 'none') return '';
    return casPair(this.model.get(place), this.tested.clock.monotonicMs())[choice];
  }

  protected expiryOf(place: Place, expiry: number): number {
    const { nowSeconds } = this.tested;
    const absolute = expiry === 0 || expiry > 30 * 24 * 3600 ? expiry : nowSeconds + expiry;
    const collectionTtl = this.maxTtlOf(place);
    const maxTtl = collectionTtl === 0 ? this.rules.maxTtl : Math.max(collectionTtl, 0);
    if (maxTtl === 0) return absolute;
    return absolute === 0 ? nowSeconds + maxTtl : Math.min(absolute, nowSeconds + maxTtl);
  }

  protected maxTtlOf(place: Place): number {
    const all = this.manifest.scopes.flatMap(({ collections }) => collections);
    return all.find(({ uid }) => isOf(place, Number.parseInt(uid, 16)))?.maxTTL ?? 0;
  }

  protected applyManifest(maxTtl: number): void {
    this.manifest = manifestOf(this.collections, Number.parseInt(this.manifest.uid, 16) + 1, maxTtl);
    for (let vb = 0; vb < vbucketCount; vb++) this.note(() => this.catchUp(vb));
    this.tested.bucket.applyManifest(this.manifest);
    this.noteEvents();
  }

  /** Accounts for seqnos of system events in every vbucket. */
  protected noteEvents(): void {
    for (let vb = 0; vb < vbucketCount; vb++) {
      const high = this.tested.bucket.documents.highSeqno(vb);
      const count = high - (this.model.high[vb] as number);
      this.note(() => assert.ok(count >= 0 && count <= 3, `${count} events at once`));
      this.model.high[vb] = high;
    }
  }

  protected compareCounts(): void {
    const live = this.model.all().filter(({ doc }) => !doc.deleted);
    const { collectionItems, items, nonResident, tombstones } = this.tested.bucket.stats();
    const countOf = (id: number): number => live.filter(({ place }) => isOf(place, id)).length;
    // Tombstones of a dropped collection that are only on disk are counted until the next start.
    const isExact = this.options.policy !== 'fullEviction' || this.swept.size === 0;
    assert.deepEqual(
      { items, tombstones: isExact ? tombstones : null, collectionItems, nonResident },
      {
        items: live.length,
        tombstones: isExact ? this.model.all().length - live.length : null,
        collectionItems: Object.fromEntries(this.collections.map((id) => [id.toString(16), countOf(id)])),
        nonResident: 0,
      },
    );
  }

  protected failoverLogs(): FailoverEntry[][] {
    return this.eachVb((vb) => [...this.tested.bucket.documents.failoverLog(vb)]);
  }

  protected eachVb<T>(act: (vb: number) => T): T[] {
    return Array.from({ length: vbucketCount }, (_, vb) => act(vb));
  }
}

export interface CasWords {
  casHi: number;
  casLo: number;
}

export const runPending = async (): Promise<void> => {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
};

export const isOf = ({ key }: Place, id: number): boolean => key.startsWith(`${id}:`);
const casOf = ({ casHi, casLo }: CasWords): string => `${casHi}/${casLo}`;
const bigOf = ({ casHi, casLo }: CasWords): bigint => (BigInt(casHi) << 32n) | BigInt(casLo);
export const wordsOf = (cas: string): [number, number] =>
  cas === '' ? [0, 0] : (cas.split('/').map(Number) as [number, number]);

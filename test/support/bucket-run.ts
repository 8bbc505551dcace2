// Runs operations on a bucket and its model: changes, stops, crashes, flushes, failed commits, too little memory, dropped
// collections, compactions.
import assert from 'node:assert/strict';
import type { BucketRules } from '#kv/bucket/rules.ts';
import { DurabilityLevel, StoreMode } from '#kv/data/documents.ts';
import { Datatype, Status } from '#wire/status.ts';
import { keyOf } from './a-bucket.ts';
import { changeAnswers, plusOne, revAfter, type State, storeAnswers } from './bucket-expectations.ts';
import { type Doc, hasXattrs, type Place, textOf, tombstoneOf } from './bucket-model.ts';
import {
  type CasChoice,
  ComparedBucket,
  isOf,
  quotaAmple,
  runPending,
  type StoreChange,
  vbucketCount,
  wordsOf,
} from './compared-bucket.ts';
import { ManualClock } from './manual-clock.ts';

const roundsMax = 400;

export class BucketRun extends ComparedBucket {
  async start(): Promise<this> {
    await this.tested.start();
    this.noteEvents();
    return this;
  }

  /** Throws the differences found since the last call. */
  check(): void {
    if (this.difference !== null) throw this.difference;
  }

  /** A key of an existing collection: 0, 8 or the newest. */
  key(collection: number, name: number): string {
    return `${this.collections[collection % this.collections.length]}:k${name}`;
  }

  store(place: Place, request: StoreChange): void {
    const { tested } = this;
    const cas = this.casFor(place, request.cas);
    const value = Buffer.from(textOf(request.content), 'latin1');
    const datatype = hasXattrs(request.content) ? Datatype.xattr : Datatype.raw;
    const { mode, flags, expiry, preserveExpiry, keepXattrs, countsTombstone, durability } = request;
    const [casHi, casLo] = wordsOf(cas);
    const change = {
      vb: place.vb,
      mode,
      flags,
      expiry,
      preserveExpiry,
      keepXattrs,
      countsTombstone,
      durability,
    };
    this.perform(
      place,
      () => tested.store(place.key, { ...change, value, datatype, casHi, casLo }),
      (status) => {
        const states = this.states(place);
        const allows = (state: State): Status[] => storeAnswers(state, { mode, cas, countsTombstone });
        const isUpdate = mode !== StoreMode.remove;
        if (!this.changeSucceeded(place, status, { allows, durability, isUpdate })) return;
        const old = this.model.get(place);
        const isThere = old !== undefined && states[0]?.kind === 'live';
        const keeps = keepXattrs && isThere && datatype === Datatype.raw && isUpdate;
        const content = keeps ? { ...old.content, body: request.content.body } : request.content;
        const newExpiry = preserveExpiry && isThere ? old.expiry : this.expiryOf(place, expiry);
        const rev = revAfter(states.filter((state) => allows(state).includes(Status.success)));
        this.changed(
          place,
          isUpdate
            ? { content, flags, expiry: newExpiry, deleted: false, rev }
            : { content, flags, expiry: tested.nowSeconds, deleted: true, rev },
        );
      },
    );
  }

  remove(place: Place, choice: CasChoice, durability: DurabilityLevel): void {
    const { tested } = this;
    const cas = this.casFor(place, choice);
    const [casHi, casLo] = wordsOf(cas);
    this.perform(
      place,
      () => tested.remove(place.key, { vb: place.vb, casHi, casLo, durability }),
      (status) => {
        const allows = (state: State): Status[] => changeAnswers(state, cas);
        if (!this.changeSucceeded(place, status, { allows, durability, isUpdate: false })) return;
        const { content, rev } = this.model.get(place) as Doc;
        this.changed(place, {
          content: tombstoneOf(content),
          flags: 0,
          expiry: tested.nowSeconds,
          deleted: true,
          rev: plusOne(rev),
        });
      },
    );
  }

  touch(place: Place, expiry: number, durability: DurabilityLevel): void {
    const { tested } = this;
    this.perform(
      place,
      () => tested.touch(place.key, { vb: place.vb, expiry, durability }),
      (status) => {
        const allows = (state: State): Status[] => changeAnswers(state, '');
        if (
          !this.changeSucceeded(place, status, {
            allows,
            durability,
            isUpdate: durability > DurabilityLevel.majority,
          })
        )
          return;
        const { content, flags, rev } = this.model.get(place) as Doc;
        assert.equal(tested.value, textOf(content), 'a touch returned another value');
        this.changed(place, {
          content,
          flags,
          deleted: false,
          expiry: this.expiryOf(place, expiry),
          rev: plusOne(rev),
        });
      },
    );
  }

  lock(place: Place, seconds: number): void {
    const { tested } = this;
    this.perform(
      place,
      () => tested.lock(place.key, seconds, place.vb),
      (status) => {
        if (this.isGone(place)) return;
        const answers = this.model.isPending(place)
          ? [Status.syncWriteInProgress]
          : this.states(place).flatMap((state) => changeAnswers(state, ''));
        this.assertOneOf(status, answers);
        if (status !== Status.success) return;
        const doc = this.model.get(place) as Doc;
        assert.equal(tested.value, textOf(doc.content), 'a lock returned another value');
        const cas = this.newCas(place.vb);
        doc.lockCas = cas;
        doc.lockedUntilMs = tested.clock.monotonicMs() + (seconds > 0 && seconds <= 30 ? seconds : 15) * 1000;
      },
    );
  }

  unlock(place: Place, choice: CasChoice): void {
    const { tested } = this;
    const cas = this.casFor(place, choice);
    const [casHi, casLo] = wordsOf(cas);
    this.perform(
      place,
      () => tested.unlock(place.key, casHi, casLo, place.vb),
      (status) => {
        if (this.isGone(place)) return;
        this.assertOneOf(
          status,
          this.states(place).flatMap((state) => this.unlockAnswers(place, state, cas)),
        );
        if (status === Status.success) (this.model.get(place) as Doc).lockedUntilMs = 0;
      },
    );
  }

  find(place: Place, kind: 'find' | 'findAny' = 'findAny'): void {
    const { tested } = this;
    this.perform(
      place,
      () => tested[kind](place.key, place.vb),
      (status) => {
        if (!this.isGone(place)) this.compareFound(place, status, kind, tested.view);
      },
    );
  }

  /** Evicts the document, or its value, if it is on disk. */
  evict({ key, vb }: Place): void {
    this.tested.bucket.keys.evict(vb, keyOf(key));
  }

  waitForDisk(vb: number, timeoutMs: number): void {
    const { documents } = this.tested.bucket;
    const seqno = documents.highSeqno(vb);
    documents.whenPersisted(vb, seqno, timeoutMs, (isPersisted) =>
      this.note(() => assert.ok(!isPersisted || documents.persistedSeqno(vb) >= seqno)),
    );
  }

  tick(ms: number): void {
    this.tested.tick(ms);
    for (let vb = 0; vb < vbucketCount; vb++) this.catchUp(vb);
  }

  setRules(rules: Partial<BucketRules>): void {
    Object.assign(this.rules, rules);
    this.tested.bucket.setRules(rules);
    if (this.options.policy === 'nruEviction') this.noteEvictions();
  }

  setMaxTtl(maxTtl: number, ofCollection: number): void {
    this.setRules({ maxTtl });
    this.applyManifest(ofCollection);
  }

  /** Drops the newest collection and creates another one. */
  replaceCollection(maxTtl: number): void {
    if (this.lastCollection === 100) return;
    const replaced = this.lastCollection++;
    for (const { place } of this.model.all()) if (isOf(place, replaced)) this.swept.add(place.vb);
    for (const [vb, docs] of this.model.pending.entries()) if (docs.size > 0) this.swept.add(vb);
    this.model.dropCollection(replaced);
    this.collections = [0, this.lastCollection];
    this.applyManifest(maxTtl);
  }

  /** `purgeAge`: the age in seconds from which tombstones are removed. */
  compact(purgeAge: 'all' | number): void {
    const purgeBeforeSeconds = purgeAge === 'all' ? purgeAge : this.tested.nowSeconds - purgeAge;
    this.tested.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds });
    this.isPurging = true;
    // The compaction may finish before the next operation.
    this.noteCompaction();
    this.isPurging = true;
  }

  async flush(): Promise<void> {
    await this.end(() => this.tested.bucket.flush(++this.incarnation));
    assert.equal(this.tested.bucket.writeFailure, null);
    for (let vb = 0; vb < vbucketCount; vb++) this.model.clear(vb);
    this.noteEvents();
    this.swept.clear();
    this.durableSeqnos.fill(0);
  }

  async restart(): Promise<void> {
    const { bucket } = this.tested;
    const logs = this.failoverLogs();
    await this.end(() => bucket.stop());
    const hadFailedCommit = bucket.writeFailure !== null;
    const high = this.eachVb((vb) => bucket.documents.highSeqno(vb));
    await this.revive();
    this.counts.restarts++;
    if (hadFailedCommit) return;
    assert.deepEqual(
      this.eachVb((vb) => this.tested.bucket.documents.highSeqno(vb)),
      high,
    );
    const used = high.flatMap((seqno, vb) => (seqno > 0 ? [vb] : []));
    const after = this.failoverLogs();
    assert.deepEqual(
      used.map((vb) => after[vb]),
      used.map((vb) => logs[vb]),
    );
  }

  /** Simulates a power failure; unsynced data is lost or kept. */
  async crash(unsynced: 'lost' | 'kept'): Promise<void> {
    const { disk } = this.options;
    if (disk === null) return;
    const logs = this.failoverLogs();
    this.noteCompaction();
    this.processRun++;
    this.tokens.clear();
    this.tested.bucket.documents.onResolved = () => {};
    this.addCounts();
    // A dead process does not evict.
    this.tested.bucket.setRules({ quotaBytes: quotaAmple });
    await disk.crash(unsynced);
    await runPending();
    await this.revive();
    this.counts.crashes++;
    for (const [vb, log] of this.failoverLogs().entries()) {
      assert.notDeepEqual(log[0], logs[vb]?.[0], 'the failover log has no new entry after a crash');
      assert.ok((log[0]?.seqno ?? -1) <= this.tested.bucket.documents.highSeqno(vb));
    }
  }

  /** Waits for background work, then compares every document and all counts. */
  async compareAll(): Promise<void> {
    this.setRules({ quotaBytes: quotaAmple });
    this.options.disk?.release();
    for (let round = 0; round < 12; round++) {
      this.tick(125);
      await runPending();
    }
    await this.untilIdle();
    for (const { place } of this.model.all()) this.find(place);
    await this.untilIdle();
    if (this.tested.bucket.writeFailure === null) this.compareCounts();
  }

  async stop(): Promise<void> {
    await this.compareAll();
    await this.end(() => this.tested.bucket.stop());
    await this.options.disk?.remove();
  }

  /** Reopens the bucket. Acknowledged durable changes must exist, and no change after a lost one. */
  private async revive(): Promise<void> {
    const persisted = this.eachVb((vb) => this.tested.bucket.documents.persistedSeqno(vb));
    const logs = this.failoverLogs();
    this.tested = await this.open(new ManualClock(this.tested.clock.wallMs() + 125)).start();
    assert.equal(this.tested.bucket.state, 'ready');
    for (let vb = 0; vb < vbucketCount; vb++) {
      const [entry] = this.tested.bucket.documents.failoverLog(vb);
      const hasNewEntry = entry?.uuidHi !== logs[vb]?.[0]?.uuidHi || entry?.uuidLo !== logs[vb]?.[0]?.uuidLo;
      const survived = hasNewEntry && entry ? entry.seqno : this.tested.bucket.documents.highSeqno(vb);
      assert.ok(survived >= (persisted[vb] as number), 'persisted changes were lost');
      assert.ok(survived >= (this.durableSeqnos[vb] as number), 'acknowledged durable changes were lost');
      this.model.cutBack(vb, survived);
    }
    this.noteEvents();
    this.isPurging = false;
  }

  /** Runs a stop or a flush, which must resolve all that waits. */
  private async end(act: () => Promise<unknown>): Promise<void> {
    this.isEnding = true;
    this.options.disk?.release();
    this.addCounts();
    this.noteCompaction();
    await act();
    this.isEnding = false;
    this.check();
    assert.equal(this.waiting, 0, 'calls still wait for a bucket that has stopped');
    assert.equal(this.tokens.size, 0, 'durable writes of a stopped bucket are not resolved');
  }

  /** Adds the counts of a bucket that ends. A crash drops the requests that wait for the disk. */
  private addCounts(): void {
    const { diskFetches, evictions, expired } = this.tested.bucket.stats();
    this.counts.fetches += diskFetches;
    this.counts.evictions += evictions;
    this.counts.expired += expired;
    if (!this.isEnding) this.waiting = 0;
  }

  private async untilIdle(): Promise<void> {
    for (let round = 0; this.waiting > 0; round++) {
      assert.ok(round < roundsMax, 'requests wait for the disk without end');
      await runPending();
    }
    this.check();
  }
}

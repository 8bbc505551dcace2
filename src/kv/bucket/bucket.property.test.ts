// Random operations on a bucket beside a plain model of it, through stops, crashes and slow disks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest, type Change } from '../../../test/support/a-bucket.ts';
import type { ManualClock } from '../../../test/support/manual-clock.ts';
import { aSeed, type Random } from '../../../test/support/random.ts';
import type { EvictionPolicy } from '../admin.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import { DurabilityLevel, StoreMode } from './documents.ts';

interface Doc {
  value: string;
  expiry: number;
  rev: number;
  cas: string;
  seqno: number;
  deleted: boolean;
  lockedUntilMs: number;
}

const vbs = 8;
const casOf = (from: { casHi: number; casLo: number }): string => `${from.casHi}/${from.casLo}`;

/** What should be there, by vbucket and key; and the order in which it came to be. */
class Model {
  readonly docs = Array.from({ length: vbs }, () => new Map<string, Doc>());
  readonly history: { vb: number; key: string; doc: Doc }[] = [];

  put(vb: number, key: string, doc: Doc): void {
    this.docs[vb]?.set(key, doc);
    this.history.push({ vb, key, doc });
  }

  /** Forgets what came after the seqnos that survived. */
  cutBack(survived: (vb: number) => number): void {
    for (const docs of this.docs) docs.clear();
    const kept = this.history.filter(({ vb, doc }) => doc.seqno <= survived(vb));
    this.history.splice(0, Infinity, ...kept);
    for (const { vb, key, doc } of kept) this.docs[vb]?.set(key, { ...doc, lockedUntilMs: 0 });
  }
}

class Run {
  readonly model = new Model();
  readonly disk: MemoryDisk;
  gate = Promise.resolve();
  b: BucketUnderTest;
  private readonly random: Random;

  private readonly policy: EvictionPolicy;
  /** Of earlier lives. */
  private fetched = 0;

  constructor(random: Random, policy: EvictionPolicy) {
    this.random = random;
    this.policy = policy;
    this.disk = new MemoryDisk({ sync: () => this.gate });
    this.b = this.open();
  }

  open(clock?: ManualClock): BucketUnderTest {
    const files = { folder: '/p', bucketUuid: 'p', incarnation: 1, fileCount: 4 };
    const storage = { disk: this.disk.engine(), files };
    return new BucketUnderTest({
      storage,
      vbucketCount: vbs,
      ...(clock && { clock }),
      evictionPolicy: this.policy,
    });
  }

  async step(): Promise<void> {
    const kind = this.random(100);
    if (kind < 45) await this.store();
    else if (kind < 60) await this.remove();
    else if (kind < 70) await this.touch();
    else if (kind < 78) await this.lock();
    else if (kind < 88) await this.find();
    else if (kind < 90) await this.squeeze();
    else if (kind < 95) this.b.tick(this.random(24) * 125);
    else if (kind < 97) await breathe();
    else if (kind < 98) await this.holdOrRelease();
    else if (kind === 98) await this.restart();
    else await this.crash();
  }

  private async pick(): Promise<{ vb: number; key: string; doc: Doc | undefined }> {
    const vb = this.random(vbs);
    const key = `key-${this.random(20)}`;
    let doc = this.model.docs[vb]?.get(key);
    if (doc && !doc.deleted && doc.expiry !== 0 && doc.expiry <= this.b.seconds) {
      doc = await this.expire(vb, key, doc);
    }
    return { vb, key, doc };
  }

  /** Expiry happens when somebody looks; the model looks too. */
  private async expire(vb: number, key: string, doc: Doc): Promise<Doc> {
    assert.equal(await this.ask(() => this.b.find(key, vb)), Status.keyNotFound);
    assert.equal(await this.ask(() => this.b.findAny(key, vb)), Status.success);
    const { seqno } = this.b.view;
    const cas = casOf(this.b.view);
    const gone = { ...doc, value: '', deleted: true, rev: doc.rev + 1, seqno, cas, expiry: this.b.seconds };
    this.model.put(vb, key, gone);
    return gone;
  }

  private async store(): Promise<void> {
    const { vb, key, doc } = await this.pick();
    const isLive = doc !== undefined && !doc.deleted;
    const mode = [StoreMode.set, StoreMode.add, StoreMode.replace][this.random(3)] as StoreMode;
    const cas = mode === StoreMode.add ? {} : this.someCas(doc);
    const value = 'v'.repeat(this.random(4) === 0 ? this.random(5000) : this.random(60));
    const expiry = this.random(4) === 0 ? 1 + this.random(5) : 0;
    const status = await this.ask(() => this.b.store(key, { vb, mode, value, expiry, ...cas }));
    if (mode === StoreMode.add) assert.equal(status, isLive ? Status.keyExists : Status.success);
    else assert.equal(status, this.expected(doc, cas, mode === StoreMode.set));
    const absolute = expiry === 0 ? 0 : this.b.seconds + expiry;
    if (status === Status.success)
      await this.changed(vb, key, doc, { value, expiry: absolute, deleted: false });
  }

  private async remove(): Promise<void> {
    const { vb, key, doc } = await this.pick();
    const cas = this.someCas(doc);
    const status = await this.ask(() => this.b.remove(key, { vb, ...cas }));
    assert.equal(status, this.expected(doc, cas, false));
    if (status === Status.success) {
      await this.changed(vb, key, doc, { value: '', expiry: this.b.seconds, deleted: true });
    }
  }

  private async touch(): Promise<void> {
    const { vb, key, doc } = await this.pick();
    const expiry = this.random(2) * (1 + this.random(6));
    const status = await this.ask(() => this.b.touch(key, { vb, expiry }));
    assert.equal(status, this.expected(doc, {}, false));
    const absolute = expiry === 0 ? 0 : this.b.seconds + expiry;
    if (status === Status.success) await this.changed(vb, key, doc, { expiry: absolute });
  }

  private async lock(): Promise<void> {
    const { vb, key, doc } = await this.pick();
    const status = await this.ask(() => this.b.lock(key, 5, vb));
    const isLive = doc !== undefined && !doc.deleted;
    assert.equal(status, !isLive ? Status.keyNotFound : this.isLocked(doc) ? Status.locked : Status.success);
    if (status !== Status.success || !doc) return;
    doc.cas = casOf(this.b.result);
    doc.lockedUntilMs = this.b.clock.monotonicMs() + 5000;
    if (this.random(2) === 0) return;
    assert.equal(this.b.unlock(key, this.b.result.casHi, this.b.result.casLo, vb), Status.success);
    doc.lockedUntilMs = 0;
  }

  private async find(): Promise<void> {
    const { vb, key, doc } = await this.pick();
    await this.check(vb, key, doc);
  }

  private async check(vb: number, key: string, doc: Doc | undefined): Promise<void> {
    const status = await this.ask(() => this.b.findAny(key, vb));
    assert.equal(status, doc ? Status.success : Status.keyNotFound);
    if (!doc) return;
    const { expiry, rev, seqno, deleted } = this.b.view;
    assert.deepEqual(
      { value: this.b.value, expiry, rev, seqno, deleted },
      { value: doc.value, expiry: doc.expiry, rev: doc.rev, seqno: doc.seqno, deleted: doc.deleted },
    );
  }

  /** Everything, once more, with nothing expiring meanwhile. */
  async checkAll(): Promise<void> {
    const items = [0, 0];
    for (const [vb, docs] of this.model.docs.entries()) {
      for (const [key, doc] of docs) {
        const isExpired = !doc.deleted && doc.expiry !== 0 && doc.expiry <= this.b.seconds;
        const now = isExpired ? await this.expire(vb, key, doc) : doc;
        await this.check(vb, key, now);
        (items[now.deleted ? 1 : 0] as number)++;
      }
    }
    const stats = this.b.bucket.stats();
    assert.deepEqual([stats.items, stats.tombstones, stats.collectionItems], [...items, { 0: items[0] }]);
  }

  private isLocked(doc: Doc): boolean {
    return doc.lockedUntilMs > this.b.clock.monotonicMs();
  }

  private someCas(doc: Doc | undefined): Change {
    const kind = this.random(3);
    if (kind === 0) return {};
    const [casHi, casLo] = (doc?.cas ?? '1/1').split('/').map(Number) as [number, number];
    return kind === 1 ? { casHi, casLo } : { casHi, casLo: (casLo ^ 1) >>> 0 || 2 };
  }

  private expected(doc: Doc | undefined, cas: Change, mayBeAbsent: boolean): Status {
    const hasCas = cas.casHi !== undefined;
    if (!doc || doc.deleted) return hasCas || !mayBeAbsent ? Status.keyNotFound : Status.success;
    const matches = hasCas && `${cas.casHi}/${cas.casLo}` === doc.cas;
    if (this.isLocked(doc)) return matches ? Status.success : Status.locked;
    return !hasCas || matches ? Status.success : Status.keyExists;
  }

  private async changed(vb: number, key: string, old: Doc | undefined, change: Partial<Doc>): Promise<void> {
    const { seqno } = this.b.result;
    const rev = old ? old.rev + 1 : await this.revOfNew(vb, key);
    const base = old ?? { value: '', expiry: 0, deleted: false };
    this.model.put(vb, key, { ...base, ...change, rev, seqno, cas: casOf(this.b.result), lockedUntilMs: 0 });
  }

  /** A new document's revision is above that of every deleted one, of which the model keeps no record. */
  private async revOfNew(vb: number, key: string): Promise<number> {
    assert.equal(await this.ask(() => this.b.findAny(key, vb)), Status.success);
    const revs = [...(this.model.docs[vb] as Map<string, Doc>).values()].filter((doc) => doc.deleted);
    assert.ok(revs.every((doc) => doc.rev < this.b.view.rev));
    return this.b.view.rev;
  }

  get fetches(): number {
    return this.fetched + this.b.bucket.stats().diskFetches;
  }

  private ask(act: () => Status): Promise<Status> {
    return this.b.whenResident(act);
  }

  /** For a moment the quota is tiny: all that may leave memory leaves. */
  private async squeeze(): Promise<void> {
    const { quotaBytes } = this.b.bucket.rules;
    this.b.bucket.setRules({ quotaBytes: 1 });
    for (let i = 0; i < 10; i++) await breathe();
    this.b.bucket.setRules({ quotaBytes });
  }

  private async holdOrRelease(): Promise<void> {
    this.release();
    await breathe();
    if (this.random(2) === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.gate = promise;
    this.release = resolve;
  }
  private release: () => void = () => {};

  private async restart(): Promise<void> {
    this.release();
    this.fetched += this.b.bucket.stats().diskFetches;
    await this.b.bucket.stop();
    this.b.tick(125);
    this.b = await this.open(this.b.clock).start();
    for (const docs of this.model.docs) for (const doc of docs.values()) doc.lockedUntilMs = 0;
    await this.takeStoredCas();
    await this.checkAll();
  }

  private async crash(): Promise<void> {
    const promised = Array.from({ length: vbs }, (_, vb) => this.b.bucket.documents.persistedSeqno(vb));
    this.fetched += this.b.bucket.stats().diskFetches;
    this.disk.crash(this.random(2) === 0 ? 'lost' : 'kept');
    this.release();
    await breathe();
    this.b.tick(125);
    this.b = await this.open(this.b.clock).start();
    const survived = (vb: number): number => this.b.bucket.documents.highSeqno(vb);
    promised.forEach((seqno, vb) => {
      assert.ok(survived(vb) >= seqno, 'what was persisted survives');
    });
    this.model.cutBack(survived);
    await this.takeStoredCas();
    await this.checkAll();
  }

  /** The CAS of a lock is not stored for itself: the model learns which one the file has. */
  private async takeStoredCas(): Promise<void> {
    for (const [vb, docs] of this.model.docs.entries()) {
      for (const [key, doc] of docs) {
        const isExpired = !doc.deleted && doc.expiry !== 0 && doc.expiry <= this.b.seconds;
        if (isExpired) continue;
        assert.equal(await this.ask(() => this.b.findAny(key, vb)), Status.success);
        doc.cas = casOf(this.b.view);
      }
    }
  }
}

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

for (const policy of ['valueOnly', 'fullEviction'] as const) {
  test(`behaves as its model under random operations, evictions, stops and crashes: ${policy}`, async (t) => {
    const run = new Run(aSeed(t), policy);
    await run.b.start();
    for (let i = 0; i < 3000; i++) await run.step();
    await run.checkAll();
    assert.ok(run.fetches > 30, `${run.fetches} fetches`);
  });
}

test('every durable write that was answered survives a crash, and none that is lost was answered', async (t) => {
  const random = aSeed(t);
  const disk = new MemoryDisk();
  const files = { folder: '/d', bucketUuid: 'd', incarnation: 1, fileCount: 2 };
  let clock: ManualClock | undefined;
  const answered = new Map<string, number>();
  for (let life = 0; life < 30; life++) {
    const b: BucketUnderTest = await new BucketUnderTest({
      storage: { disk: disk.engine(), files },
      vbucketCount: vbs,
      ...(clock && { clock }),
    }).start();
    clock = b.clock;
    for (const [name, seqno] of answered) {
      assert.equal(b.find(name, Number(name[0])), Status.success);
      assert.ok(b.view.seqno >= seqno, `${name} is at least as new as answered`);
    }
    const waiting = new Map<number, { name: string; seqno: number }>();
    b.bucket.documents.onSettled = (token, status) => {
      if (status !== Status.success) return;
      const { name, seqno } = waiting.get(token) as { name: string; seqno: number };
      answered.set(name, Math.max(seqno, answered.get(name) ?? 0));
    };
    for (let i = random(200); i > 0; i--) {
      const vb = random(vbs);
      const name = `${vb}-${random(30)}`;
      const durability = random(2) === 0 ? DurabilityLevel.persistToMajority : DurabilityLevel.none;
      const status = b.store(name, { vb, durability });
      assert.ok(status === Status.success || status === Status.syncWriteInProgress);
      if (status === Status.success && b.result.pending > 0) {
        waiting.set(b.result.pending, { name, seqno: b.result.seqno });
      }
      if (random(20) === 0) await breathe();
      if (random(20) === 0) b.tick(random(40));
    }
    disk.crash(random(2) === 0 ? 'lost' : 'kept');
    // What it still says reaches no client: the process is dead.
    b.bucket.documents.onSettled = () => {};
    await breathe();
    clock.advance(1);
  }
  assert.ok(answered.size > 50);
});

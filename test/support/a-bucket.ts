// A bucket under test with a manual clock, and methods that accept strings as keys and values.
import assert from 'node:assert/strict';
import { Bucket } from '#kv/bucket/bucket.ts';
import type { BucketOptions } from '#kv/bucket/bucket-parts.ts';
import {
  type DocumentResult,
  DurabilityLevel,
  emptyItemView,
  emptyMutation,
  type FetchedDocument,
  type ItemView,
  type MutationRequest,
  type MutationResult,
  notResident,
} from '#kv/data/documents.ts';
import { valueBytesMax } from '#kv/value/validate-value.ts';
import { Now } from '#kv/vbucket/now.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { snappyInflate } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { ManualClock } from './manual-clock.ts';

export type Change = Partial<Omit<MutationRequest, 'key' | 'value'>> & { value?: string | Buffer };

export class BucketUnderTest {
  readonly clock: ManualClock;
  readonly now = new Now();
  readonly bucket: Bucket;
  readonly view: ItemView = emptyItemView();
  readonly result: MutationResult = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };
  /** By token: the outcomes of the durable writes that are no longer pending. */
  readonly resolved = new Map<number, Status>();

  constructor(options: Partial<BucketOptions> & { clock?: ManualClock } = {}) {
    this.clock = options.clock ?? new ManualClock();
    this.bucket = new Bucket({
      type: options.storage ? 'native' : 'ephemeral',
      rules: { quotaBytes: 2 ** 30, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 },
      now: this.now,
      random: realRandom,
      log: silentLog,
      vbucketCount: 64,
      ...options,
      clock: this.clock,
    });
    this.tick(0);
    this.bucket.documents.onResolved = (token, status) => this.resolved.set(token, status);
  }

  async start(): Promise<this> {
    await this.bucket.start();
    return this;
  }

  /** Advances the clock, and gives the bucket the new time, as the bucket's host does. */
  tick(ms: number): void {
    this.clock.advance(ms);
    this.now.set(this.clock.wallMs(), this.clock.monotonicMs());
  }

  /** Advances the clock in steps of five milliseconds, running promises in between. */
  async advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5) {
      this.tick(5);
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The time of the bucket as documents store it: in seconds since 1970. */
  get nowSeconds(): number {
    return Math.floor(this.clock.wallMs() / 1000);
  }

  store(key: string, change: Change = {}): DocumentResult {
    return this.bucket.documents.store(aRequest(key, change), this.result);
  }

  remove(key: string, change: Change = {}): DocumentResult {
    return this.bucket.documents.remove(aRequest(key, change), this.result);
  }

  touch(key: string, change: Change = {}): DocumentResult {
    return this.bucket.documents.touch(aRequest(key, change), this.result, this.view);
  }

  lock(key: string, seconds = 0, vb = 0): DocumentResult {
    const bytes = keyOf(key);
    return this.bucket.documents.lock(vb, bytes, 0, bytes.length, seconds, this.result, this.view);
  }

  unlock(key: string, casHi: number, casLo: number, vb = 0): DocumentResult {
    const bytes = keyOf(key);
    return this.bucket.documents.unlock(vb, bytes, 0, bytes.length, casHi, casLo);
  }

  find(key: string, vb = 0): DocumentResult {
    const bytes = keyOf(key);
    return this.bucket.documents.find(vb, bytes, 0, bytes.length, this.view);
  }

  findAny(key: string, vb = 0): DocumentResult {
    const bytes = keyOf(key);
    return this.bucket.documents.findAny(vb, bytes, 0, bytes.length, this.view);
  }

  /** Repeats the call while it needs a fetch from disk. */
  async whenResident(act: () => DocumentResult): Promise<Status> {
    for (let i = 0; i < 100; i++) {
      const status = act();
      if (status !== notResident) return status;
      const answer = await fetched(this.bucket);
      if (answer !== Status.success) return answer;
    }
    throw new Error('the bucket evicted the fetched document each time');
  }

  /** Repeats a change of a copy while it needs a read from disk or memory has no room. */
  async untilApplied(apply: () => DocumentResult): Promise<void> {
    for (let tries = 0; tries < 1000; tries++) {
      const status = apply();
      if (status === Status.success) return;
      if (status === notResident) await new Promise((resolve) => this.bucket.applier.awaitDisk(resolve));
      else assert.ok(status === Status.temporaryFailure || status === Status.outOfMemory, String(status));
      this.tick(25);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.fail('memory has had no room for the change during 1,000 attempts');
  }

  /** The value of the document that the last successful call returned in the view, not compressed. */
  get value(): string {
    const { buffer, datatype, valueEnd, valueStart } = this.view;
    if ((datatype & Datatype.snappy) === 0) return buffer.toString('latin1', valueStart, valueEnd);
    const inflated = snappyInflate(buffer, valueStart, valueEnd, valueBytesMax);
    assert.ok(inflated, 'a value is not compressed, although its datatype says so');
    return inflated.toString('latin1');
  }

  /** The CAS of the last result, for the next request. */
  get cas(): { casHi: number; casLo: number } {
    return { casHi: this.result.casHi, casLo: this.result.casLo };
  }
}

/** Waits for the fetch that the last call needs. After `success` the call can be repeated. */
export async function fetched({ documents }: Bucket): Promise<Status> {
  const answer = await new Promise<FetchedDocument | Status>((resolve) => documents.awaitDisk(resolve));
  if (typeof answer === 'number') return answer;
  return answer.lacksRoom ? Status.temporaryFailure : Status.success;
}

/** `8:name` is a key of collection 8, anything else of the default collection. */
export function keyOf(key: string): Buffer {
  const [, collection, name] = /^(\d+):(.*)$/s.exec(key) ?? ['', '0', key];
  return Buffer.concat([Buffer.from([Number(collection)]), Buffer.from(name as string)]);
}

export function aRequest(key: string, change: Change = {}): MutationRequest {
  const bytes = keyOf(key);
  const changeValue = change.value ?? 'value';
  const value = typeof changeValue === 'string' ? Buffer.from(changeValue, 'latin1') : changeValue;
  return {
    ...emptyMutation(),
    key: bytes,
    keyEnd: bytes.length,
    valueEnd: value.length,
    ...change,
    value,
  };
}

/** A value with an xattr section in front of its body. */
export function withXattrs(pairs: Record<string, string>, body: string): Buffer {
  const encoded = Object.entries(pairs).map(([key, value]) => {
    const text = Buffer.from(`${key}\0${value}\0`);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length);
    return Buffer.concat([length, text]);
  });
  const section = Buffer.concat(encoded);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(section.length);
  return Buffer.concat([length, section, Buffer.from(body)]);
}

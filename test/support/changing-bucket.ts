// A bucket that a thread of its own changes until it is stopped, while another thread reads the documents.
import { isMainThread, type MessagePort, Worker, workerData } from 'node:worker_threads';
import type { Bucket } from '#kv/bucket/bucket.ts';
import { DocumentBatches } from '#kv/host/document-batches.ts';
import { Directory } from '#kv/served/directory.ts';
import { ServedBucket } from '#kv/served/served-bucket.ts';
import { TurnClock } from '#kv/turn-clock.ts';
import { figuresOf } from '#kv/vbucket/figures.ts';
import { realClock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from './a-bucket.ts';
import { aBucket } from './data-service.ts';
import { randomFrom } from './random.ts';

export const changedCollection = { bucket: 'b', collection: 8, documents: 10 } as const;
const vbuckets = 8;
const changesPerTurn = 6;
/** Turns between two flushes of the bucket. */
const turnsPerFlush = 500;
/** The pause between two turns, in which others can read. */
const pauseMs = 0.05;

export const nameOf = (at: number): string => `document ${at}`;
export const vbOf = (at: number): number => at % vbuckets;

/** Values of consecutive versions often have the same size, so that one is written over the other. */
export function valueAt(at: number, version: number): Buffer {
  const bytes = 20 + ((at * 31 + (version >>> 3) * 2_477) % 20_000);
  return Buffer.alloc(bytes, `${at} ${version};`);
}

export interface Changes {
  readonly port: MessagePort;
  /** By document: the newest version that was acknowledged. A deletion is a version too. */
  readonly written: Int32Array;
  /** One number: 1 tells the thread to end. */
  readonly isEnded: Int32Array;
  readonly seed: number;
}

export const startChanges = (changes: Changes): Worker =>
  new Worker(new URL(import.meta.url), { workerData: changes, transferList: [changes.port] });

class ChangingBucket {
  private readonly bucket = new BucketUnderTest({ vbucketCount: vbuckets, manifest: aBucket('b').manifest });
  private readonly served = new ServedBucket(aBucket('b', { type: 'ephemeral' }));
  private readonly written: Int32Array;
  private readonly pause = new Int32Array(new SharedArrayBuffer(4));
  private readonly random: (below: number) => number;

  constructor({ port, seed, written }: Changes) {
    this.written = written;
    this.random = randomFrom(seed);
    const directory = new Directory();
    directory.buckets.set(changedCollection.bucket, this.served);
    new DocumentBatches(directory, () => this.bucket.tick(0)).serve(port, new TurnClock(realClock));
  }

  async changeUntil(isEnded: () => boolean): Promise<void> {
    await this.bucket.start();
    openBucket(this.served, this.bucket.bucket);
    for (let turn = 1; !isEnded(); turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      Atomics.wait(this.pause, 0, 0, pauseMs);
      if (turn % turnsPerFlush === 0) await this.flush(turn);
      for (let change = 0; change < changesPerTurn; change++) this.change();
    }
    await this.bucket.bucket.stop();
  }

  private change(): void {
    const { bucket, random, written } = this;
    const at = random(changedCollection.documents);
    const key = `${changedCollection.collection}:${nameOf(at)}`;
    const version = (written[at] as number) + 1;
    const document = { vb: vbOf(at), value: valueAt(at, version), flags: version };
    const status = random(10) === 0 ? bucket.remove(key, { vb: vbOf(at) }) : bucket.store(key, document);
    if (status !== Status.success && status !== Status.keyNotFound) throw new Error(`status ${status}`);
    bucket.find(key, vbOf(at)); // which marks the document as used
    Atomics.store(written, at, version);
  }

  private async flush(incarnation: number): Promise<void> {
    this.served.close();
    await this.bucket.bucket.flush(incarnation);
    for (let at = 0; at < changedCollection.documents; at++) Atomics.add(this.written, at, 1);
    openBucket(this.served, this.bucket.bucket);
  }
}

/** Serves the bucket, as its host does. */
export function openBucket(served: ServedBucket, bucket: Bucket): void {
  const { changes, compaction, documents, keys, memory, timings } = bucket;
  const figures = () => ({ ...bucket.stats(), dataBytes: 0, diskBytes: 0, freeDiskBytes: 0 });
  const activity = () => bucket.activity();
  const vbucketFigures = (vb: number) => figuresOf(memory.columns, vb);
  const parts = { documents, memory, changes, keys, timings, compaction };
  served.open({ ...parts, figures, activity, vbucketFigures });
}

if (!isMainThread && workerData?.written !== undefined) {
  const changes = workerData as Changes;
  await new ChangingBucket(changes).changeUntil(() => Atomics.load(changes.isEnded, 0) === 1);
  changes.port.close();
}

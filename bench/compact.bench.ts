// Compaction of one data file of 256-byte documents that were rewritten once, alone and beside a writer of small commits: megabytes of
// live data per second, and the rate of the writer compared with that without a compaction.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CutItem, CutWriter } from '../src/kv/data/cut.ts';
import type { DiskEngine } from '../src/kv/data/disk-engine.ts';
import { workerDiskEngine } from '../src/kv/disk/hosts/worker-engine.ts';

const bucketUuid = 'b'.repeat(32);
const vbuckets = 256;
const valueBytes = 256;
/** Purges no tombstone. */
const keepTombstones = { purgeBeforeSeconds: 0 };

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const engine = workerDiskEngine();
  try {
    await engine.open({ folder: join(folder, 'bucket'), bucketUuid, incarnation: 1, fileCount: 1 });
    await measure(engine, smoke ? 10_000 : 300_000, smoke ? 100 : 3000);
  } finally {
    await engine.stop();
    rmSync(folder, { recursive: true });
  }
}

async function measure(engine: DiskEngine, documents: number, aloneMs: number): Promise<void> {
  const source = new Source(documents);
  for (let i = 0; i < 2 * documents; i += 10_000) await engine.commit(bucketUuid, 0, source.cuts(10_000));
  const before = await engine.sizes(bucketUuid);
  await compacted(engine, 'alone');
  const after = await engine.sizes(bucketUuid);
  console.log(`file ${mb(before.fileBytes)} MB before, ${mb(after.fileBytes)} MB after`);
  const untilMs = performance.now() + aloneMs;
  const rate = await rateOfWrites(engine, source, () => performance.now() < untilMs);
  let isDone = false;
  const compaction = compacted(engine, 'beside a writer').finally(() => {
    isDone = true;
  });
  const beside = await rateOfWrites(engine, source, () => !isDone);
  await compaction;
  const drop = 100 * (1 - beside / rate);
  console.log(
    `writes: ${rate.toFixed(0)} documents/s alone, ${beside.toFixed(0)} beside, ${drop.toFixed(0)} % less`,
  );
}

async function compacted(engine: DiskEngine, name: string): Promise<void> {
  const startedMs = performance.now();
  await engine.compact(bucketUuid, 0, keepTombstones);
  const seconds = (performance.now() - startedMs) / 1000;
  const { dataBytes } = await engine.sizes(bucketUuid);
  console.log(`compaction ${name}: ${(dataBytes / seconds / 1e6).toFixed(0)} MB/s of live data`);
}

async function rateOfWrites(engine: DiskEngine, source: Source, continues: () => boolean): Promise<number> {
  const startedMs = performance.now();
  let count = 0;
  for (; continues(); count += 1000) await engine.commit(bucketUuid, 0, source.cuts(1000));
  return count / ((performance.now() - startedMs) / 1000);
}

const mb = (bytes: number): string => (bytes / 1e6).toFixed(0);

/** Rewrites documents repeatedly, in no order of their keys. */
class Source {
  private cutsWritten = 0;
  /** By vbucket: its last seqno, which is also how many of its documents were written. */
  private readonly seqnos = new Uint32Array(vbuckets);
  /** The number of documents of each vbucket. */
  private readonly documents: number;
  private readonly item: CutItem;
  private readonly writer = new CutWriter(1 << 23);

  constructor(documents: number) {
    this.documents = Math.ceil(documents / vbuckets);
    const buffer = Buffer.alloc(24 + valueBytes, 'v');
    const metadata = { casHi: 1, casLo: 1, rev: 1, flags: 0, expiry: 0, datatype: 0, bits: 0, seqno: 0 };
    this.item = { buffer, keyStart: 0, keyEnd: 24, valueStart: 24, valueEnd: buffer.length, ...metadata };
  }

  cuts(count: number): Uint8Array {
    const perVbucket = Math.ceil(count / 16);
    for (let left = count; left > 0; left -= perVbucket) this.cut(Math.min(left, perVbucket));
    return this.writer.drain();
  }

  private cut(count: number): void {
    const vb = this.cutsWritten++ % vbuckets;
    const failover = Buffer.alloc(16);
    const before = this.seqnos[vb] as number;
    this.writer.begin(failover.length);
    for (let seqno = before + 1; seqno <= before + count; seqno++) {
      this.item.seqno = seqno;
      const key = Math.imul((seqno % this.documents) * vbuckets + vb, 0x9e3779b1) >>> 0;
      this.item.buffer.write(`\0key:${key.toString(16).padStart(19, '0')}`, 0, 'latin1');
      this.writer.item(this.item);
    }
    this.seqnos[vb] = before + count;
    this.writer.finish({
      vb,
      startSeqno: before + 1,
      endSeqno: before + count,
      maxCasHi: 1,
      maxCasLo: 1,
      failover,
      maxDeletedRev: 0,
      purgeSeqno: 0,
      manifestUid: 0,
      items: Math.min(this.documents, before + count),
      deleted: 0,
      snapStart: before + count,
      snapEnd: before + count,
      epoch: 1,
      copy: 0,
    });
  }
}

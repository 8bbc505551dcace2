// The cost of the disk engine: small fsynced commits, large commits and loading, compared with a loop of inserts of the same rows into a
// bare node:sqlite table in the same run; and the rate at which a bucket's changes are written.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type CutItem, CutWriter } from '../src/kv/data/cut.ts';
import type { DiskEngine } from '../src/kv/data/disk-engine.ts';
import { sqliteEngine } from '../src/kv/disk/adapters/sqlite-engine.ts';
import { workerDiskEngine } from '../src/kv/disk/hosts/worker-engine.ts';
import { benchPersistence } from './support/persistence.ts';

const bucketUuid = 'b'.repeat(32);
const valueBytes = 256;
const vbuckets = 256;

interface Sizes {
  smallCommits: number;
  rowsPerSmallCommit: number;
  largeCommits: number;
  rowsPerLargeCommit: number;
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const sizes = {
    smallCommits: smoke ? 20 : 1000,
    rowsPerSmallCommit: 4,
    largeCommits: smoke ? 2 : 20,
    rowsPerLargeCommit: smoke ? 1000 : 10_000,
  };
  await inFolder((folder) => bareSqlite(folder, sizes));
  await inFolder((folder) => measure('engine, same thread', sqliteEngine(), folder, sizes));
  await inFolder((folder) => measure('engine, worker', workerDiskEngine(), folder, sizes));
  await inFolder((folder) => benchPersistence(folder, smoke ? 10_000 : 500_000));
}

async function measure(name: string, engine: DiskEngine, folder: string, sizes: Sizes): Promise<void> {
  const open = () =>
    engine.open({ folder: join(folder, 'bucket'), bucketUuid, incarnation: 1, fileCount: 1 });
  await open();
  const source = new RowSource();
  const commit = async (count: number, rows: number): Promise<number> => {
    let ms = 0;
    for (let i = 0; i < count; i++) {
      const cuts = source.cuts(rows);
      const startedMs = performance.now();
      await engine.commit(bucketUuid, 0, cuts);
      ms += performance.now() - startedMs;
    }
    return ms;
  };
  report(name, sizes, {
    smallMs: await commit(sizes.smallCommits, sizes.rowsPerSmallCommit),
    largeMs: await commit(sizes.largeCommits, sizes.rowsPerLargeCommit),
  });
  await engine.close(bucketUuid);
  await open();
  let bytes = 0;
  const startedMs = performance.now();
  await engine.load(bucketUuid, 0, (batch) => void (bytes += batch.length));
  const seconds = (performance.now() - startedMs) / 1000;
  const rows = source.rows / seconds;
  console.log(`${name}: load ${kilo(rows)} rows/s, ${(bytes / seconds / 1e6).toFixed(0)} MB/s`);
  const { fileBytes } = await engine.sizes(bucketUuid);
  console.log(`${name}: ${(fileBytes / source.rows).toFixed(0)} bytes on disk a row`);
  await engine.stop();
}

/** One table by vbucket and key, the row as one blob: the minimum work of such a store. */
function bareSqlite(folder: string, sizes: Sizes): void {
  const db = new DatabaseSync(join(folder, 'bare.db'));
  db.exec('pragma page_size=8192; pragma journal_mode=wal; pragma synchronous=full;');
  db.exec('create table t(vb int, key blob, seq int, val blob, primary key(vb, key)) without rowid');
  const put = db.prepare('insert into t values(?, ?, ?, ?)');
  const source = new RowSource();
  const commit = (count: number, rows: number): number => {
    const startedMs = performance.now();
    for (let i = 0; i < count; i++) {
      db.exec('begin');
      for (let row = 0; row < rows; row++) {
        const { buffer, keyEnd, valueEnd, seqno } = source.next();
        put.run(seqno % vbuckets, buffer.subarray(0, keyEnd), seqno, buffer.subarray(keyEnd, valueEnd));
      }
      db.exec('commit');
    }
    return performance.now() - startedMs;
  };
  const name = 'bare node:sqlite';
  report(name, sizes, {
    smallMs: commit(sizes.smallCommits, sizes.rowsPerSmallCommit),
    largeMs: commit(sizes.largeCommits, sizes.rowsPerLargeCommit),
  });
  const read = db.prepare('select * from t');
  read.setReturnArrays(true);
  let rows = 0;
  const startedMs = performance.now();
  for (const _ of read.iterate()) rows++;
  console.log(`${name}: scan ${kilo(rows / ((performance.now() - startedMs) / 1000))} rows/s`);
  db.close();
}

/** New keys in random order with values of 256 bytes, spread over the vbuckets of a file. */
class RowSource {
  rows = 0;
  private readonly item: CutItem;
  private readonly writer = new CutWriter(1 << 23);

  constructor() {
    const buffer = Buffer.alloc(24 + valueBytes, 'v');
    const zero = { casHi: 1, casLo: 1, rev: 1, flags: 0, expiry: 0, datatype: 0, bits: 0, seqno: 0 };
    this.item = { buffer, keyStart: 0, keyEnd: 24, valueStart: 24, valueEnd: buffer.length, ...zero };
  }

  next(): CutItem {
    this.item.seqno = ++this.rows;
    const scattered = Math.imul(this.rows, 0x9e3779b1) >>> 0;
    this.item.buffer.write(`\0key:${scattered.toString(16).padStart(19, '0')}`, 0, 'latin1');
    return this.item;
  }

  cuts(rows: number): Uint8Array {
    const perVbucket = Math.ceil(rows / vbuckets);
    const failover = Buffer.alloc(16);
    for (let left = rows, vb = this.rows % vbuckets; left > 0; vb = (vb + 1) % vbuckets) {
      this.writer.begin(failover.length);
      const startSeqno = this.rows + 1;
      for (let i = Math.min(perVbucket, left); i > 0; i--, left--) this.writer.item(this.next());
      const counts = { maxDeletedRev: 0, purgeSeqno: 0, manifestUid: 0, items: perVbucket, deleted: 0 };
      const whole = { snapStart: this.rows, snapEnd: this.rows, epoch: 1, copy: 0 };
      this.writer.finish({
        vb,
        startSeqno,
        endSeqno: this.rows,
        maxCasHi: 1,
        maxCasLo: 1,
        ...counts,
        ...whole,
        failover,
      });
    }
    return this.writer.drain();
  }
}

function report(
  name: string,
  sizes: Sizes,
  { smallMs, largeMs }: { smallMs: number; largeMs: number },
): void {
  const commits = (sizes.smallCommits / smallMs) * 1000;
  const rows = ((sizes.largeCommits * sizes.rowsPerLargeCommit) / largeMs) * 1000;
  console.log(`${name}: ${commits.toFixed(0)} fsynced commits/s of ${sizes.rowsPerSmallCommit} rows`);
  console.log(`${name}: ${kilo(rows)} rows/s in commits of ${sizes.rowsPerLargeCommit}`);
}

const kilo = (count: number): string => `${(count / 1000).toFixed(0)} k`;

async function inFolder(act: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  try {
    await act(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

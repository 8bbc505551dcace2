// The suites of disk engines, run on the engine in memory and on each configuration of the SQLite engine.
import { closeSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BucketFiles, DiskEngine } from '#kv/data/disk-engine.ts';
import { sqliteEngine } from '#kv/disk/adapters/sqlite-engine.ts';
import { workerDiskEngine } from '#kv/disk/hosts/worker-engine.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { type DiskUnderTest, describeDiskEngine } from './disk-engine.ts';
import { describeDiskEngineBackfill } from './disk-engine-backfill.ts';
import { describeCompaction } from './disk-engine-compaction.ts';
import { describeDiskEngineDrop } from './disk-engine-drop.ts';
import { describeDiskEngineFaults } from './disk-engine-faults.ts';
import { describeFetching } from './disk-engine-fetch.ts';
import { describeDiskEngineRollback } from './disk-engine-rollback.ts';

const disks: Record<string, () => Promise<DiskUnderTest>> = {
  memory: inMemory,
  'SQLite in the same thread': () => onFiles(sqliteEngine),
  'SQLite, every commit urgent': () => onFiles(() => urgently(sqliteEngine())),
  'SQLite in two workers': () => onFiles(() => workerDiskEngine({ readers: 2, writers: 2, compactors: 2 })),
};
for (const [name, make] of Object.entries(disks)) {
  describeDiskEngine(name, make);
  describeDiskEngineBackfill(name, make);
  describeDiskEngineDrop(name, make);
  describeDiskEngineRollback(name, make);
  describeDiskEngineFaults(name, make);
  describeFetching(name, make);
  describeCompaction(name, make);
}
// One thread for each kind of work: the other suites are above with one thread for all, and with two for each. Urgency concerns commits only.
describeCompaction('SQLite in a worker', () => onFiles(() => workerDiskEngine()));
for (const describe of [describeDiskEngine, describeDiskEngineFaults, describeCompaction])
  describe('SQLite in a worker, every commit urgent', () => onFiles(() => urgently(workerDiskEngine())));

async function inMemory(): Promise<DiskUnderTest> {
  const disk = new MemoryDisk();
  return {
    engine: () => disk.engine(),
    folder: (name) => `/${name}`,
    kill: async () => disk.crash(),
    damage: (files, file) => disk.damage(files.folder, file, 'unreadable'),
    [Symbol.asyncDispose]: async () => {},
  };
}

async function onFiles(make: () => DiskEngine): Promise<DiskUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'divan-disk-'));
  const engines: DiskEngine[] = [];
  return {
    engine: () => {
      const engine = make();
      engines.push(engine);
      return engine;
    },
    folder: (name) => join(folder, name),
    kill: (engine) => engine.stop(),
    damage: overwrite,
    [Symbol.asyncDispose]: async () => {
      for (const engine of engines) await engine.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** Makes every commit urgent, as one for which clients wait. */
function urgently(engine: DiskEngine): DiskEngine {
  const commit = engine.commit.bind(engine);
  const isUrgent = true;
  engine.commit = (bucketUuid, file, cuts) => commit(bucketUuid, file, cuts, isUrgent);
  return engine;
}

/** SQLite reads the schema from the first page; without it the file could not be opened. */
const firstPageBytes = 8192;

/** Overwrites all pages of the file but the first with bytes that are no page. */
function overwrite(files: BucketFiles, file: number): void {
  const name = readdirSync(files.folder).find(
    (found) => found.startsWith(`data-${file}.`) && found.endsWith('.db'),
  );
  const path = join(files.folder, name ?? '');
  const descriptor = openSync(path, 'r+');
  const { size } = statSync(path);
  writeSync(descriptor, Buffer.alloc(size - firstPageBytes, 0xa5), 0, size - firstPageBytes, firstPageBytes);
  closeSync(descriptor);
  rmSync(`${path}-wal`, { force: true });
}

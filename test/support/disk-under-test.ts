// The disk of a bucket under test: in memory, where commits and reads can be blocked and fail, or SQLite files
// in this process, where a crash keeps committed data.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DiskEngine } from '#kv/data/disk-engine.ts';
import { sqliteEngine } from '#kv/disk/adapters/sqlite-engine.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';

export interface DiskUnderTest {
  readonly folder: string;
  /** An engine for the next simulated process. */
  engine(): DiskEngine;
  crash(unsynced: 'lost' | 'kept'): Promise<void>;
  /** Blocks syncs, or reads, from now on. */
  hold(what: 'syncs' | 'reads'): void;
  release(): void;
  /** The next commit fails, unless `release` comes first. */
  failNextCommit(): void;
  remove(): Promise<void>;
}

class Gate {
  private opened: Promise<void> = Promise.resolve();
  private open: () => void = () => {};

  pass = (): Promise<void> => this.opened;

  close(): void {
    this.release();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.opened = promise;
    this.open = resolve;
  }

  release(): void {
    this.open();
    this.opened = Promise.resolve();
  }
}

export function memoryDisk(): DiskUnderTest {
  const syncs = new Gate();
  const reads = new Gate();
  const disk = new MemoryDisk({ sync: syncs.pass, read: reads.pass });
  const release = (): void => {
    disk.failNextWrite(null);
    syncs.release();
    reads.release();
  };
  return {
    folder: '/model',
    engine: () => disk.engine(),
    crash: async (unsynced) => {
      disk.crash(unsynced);
      release();
    },
    hold: (what) => (what === 'syncs' ? syncs : reads).close(),
    release,
    failNextCommit: () => disk.failNextWrite('the disk is broken'),
    remove: async () => {},
  };
}

export function sqliteDisk(): DiskUnderTest {
  const folder = mkdtempSync(join(tmpdir(), 'divan-model-'));
  let last: DiskEngine | null = null;
  return {
    folder: join(folder, 'bucket'),
    engine: () => (last = sqliteEngine()),
    crash: async () => await last?.stop(),
    hold: () => {},
    release: () => {},
    failNextCommit: () => {},
    remove: async () => {
      await last?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { needs } from '../../test/support/needs.ts';
import { DiskReserveFile } from './disk-reserve-file.ts';

const kib = 1024;
const sizeIn = (folder: string): number => statSync(join(folder, 'reserve')).size;
const freeIn = (folder: string): number => statfsSync(folder).bavail * statfsSync(folder).bsize;

function onDisk(
  bytes: number,
  run: (folder: string, reserve: DiskReserveFile, clock: ManualClock) => void,
): void {
  const folder = mkdtempSync(join(tmpdir(), 'divan-reserve-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'divan-test', folder]);
  const clock = new ManualClock();
  const reserve = new DiskReserveFile(folder, clock);
  try {
    run(folder, reserve, clock);
  } finally {
    reserve.stop();
    execFileSync('umount', ['--lazy', folder]);
    rmSync(folder, { recursive: true });
  }
}

test(
  'a small disk has a small reserve, released in pieces and reserved again when space is free',
  {
    skip: needs('mount'),
  },
  () =>
    onDisk(4096 * kib, (folder, reserve, clock) => {
      reserve.refill();
      assert.equal(sizeIn(folder), 1024 * kib);
      writeFileSync(join(folder, 'filler'), Buffer.alloc(3072 * kib));
      assert.equal(freeIn(folder), 0);
      for (let left = 896; left >= 0; left -= 128) {
        assert.equal(reserve.release(), true);
        assert.equal(sizeIn(folder), left * kib);
      }
      assert.equal(freeIn(folder), 1024 * kib);
      assert.equal(reserve.release(), false);
      rmSync(join(folder, 'filler'));
      clock.advance(2_000);
      assert.equal(sizeIn(folder), 1024 * kib);
    }),
);

test('a node starts without a reserve if the disk has no space for it', { skip: needs('mount') }, () =>
  onDisk(128 * kib, (folder, reserve, clock) => {
    reserve.useForStart();
    reserve.refill();
    clock.advance(2_000);
    assert.deepEqual(readdirSync(folder), []);
    assert.equal(reserve.release(), false);
  }),
);

test(
  'a start on a full disk leaves some of the reserve for changes and for the next start',
  { skip: needs('mount') },
  () =>
    onDisk(64 * 1024 * kib, (folder, reserve) => {
      reserve.refill();
      reserve.useForStart();
      assert.equal(sizeIn(folder), 8192 * kib, 'the disk has free space');
      writeFileSync(join(folder, 'filler'), Buffer.alloc(56 * 1024 * kib));
      reserve.useForStart();
      assert.equal(sizeIn(folder), 1024 * kib);
      reserve.useForStart();
      assert.equal(sizeIn(folder), 512 * kib);
    }),
);

test('a folder with the name of the reserve is refused at the start and released nothing of', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-reserve-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'reserve'));
  const reserve = new DiskReserveFile(folder, new ManualClock());
  t.after(() => reserve.stop());
  assert.throws(() => reserve.useForStart(), /cannot reserve disk space in .*reserve: it is not a file/);
  reserve.refill();
  assert.equal(reserve.release(), false);
});

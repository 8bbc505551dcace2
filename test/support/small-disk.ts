// A disk of its own for one test, which can be filled. Needs the right to mount (root on Linux).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fillDisk } from './fill-disk.ts';

export class SmallDisk {
  readonly folder: string;

  constructor(t: TestContext, size: string) {
    const folder = mkdtempSync(join(tmpdir(), 'divan-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'divan-test', folder]);
    t.after(() => {
      execFileSync('umount', ['--lazy', folder]);
      rmSync(folder, { recursive: true });
    });
    this.folder = folder;
  }

  /** Leaves this many bytes. */
  fill(leftBytes = 0): void {
    const ballast = join(this.folder, 'ballast');
    fillDisk(ballast);
    if (leftBytes > 0) truncateSync(ballast, statSync(ballast).size - leftBytes);
  }

  free(): void {
    rmSync(join(this.folder, 'ballast'));
  }
}

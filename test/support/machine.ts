// A machine of a cluster under test, except for its network: a disk of its own that can be full or restored to an earlier state, and a wall
// clock that can be set. Needs the right to mount (root on Linux) and a C compiler.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, cpSync, mkdirSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { builtC } from './built-c.ts';
import { fillDisk } from './fill-disk.ts';

const diskMb = 256;
const filler = 'filler';

export class Machine {
  /** The data folder of its node: a disk of its own. */
  readonly dataDir: string;
  private readonly savedFolder: string;
  private readonly clock: string;
  private readonly library: string;

  /** `folder` does not exist yet. */
  constructor(folder: string) {
    this.dataDir = join(folder, 'data');
    this.savedFolder = join(folder, 'kept');
    this.clock = join(folder, 'clock-ahead');
    mkdirSync(this.dataDir, { recursive: true });
    this.library = builtC('faulty-machine.c', join(folder, 'faulty-machine.so'), ['-shared', '-fPIC']);
    this.setClock(0);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'none', this.dataDir]);
  }

  /** Environment of every process on this machine. */
  get environment(): Record<string, string> {
    return { LD_PRELOAD: this.library, DIVAN_CLOCK_AHEAD: this.clock };
  }

  setClock(aheadMs: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(aheadMs) * 1_000_000n);
    // In place: running processes have the file mapped.
    const file = openSync(this.clock, constants.O_CREAT | constants.O_WRONLY);
    writeSync(file, bytes);
    closeSync(file);
  }

  /** Nothing more can be written, not a byte. */
  fillDisk(): void {
    fillDisk(join(this.dataDir, filler));
  }

  freeDisk(): void {
    rmSync(join(this.dataDir, filler));
  }

  /** Keeps a copy of the data folder; its node does not run. */
  keepFolder(): void {
    rmSync(this.savedFolder, { recursive: true, force: true });
    cpSync(this.dataDir, this.savedFolder, { recursive: true });
  }

  /** Puts the copy in place of the data folder; its node does not run. */
  putFolderBack(): void {
    for (const name of readdirSync(this.dataDir)) rmSync(join(this.dataDir, name), { recursive: true });
    cpSync(this.savedFolder, this.dataDir, { recursive: true });
  }

  [Symbol.dispose](): void {
    execFileSync('umount', ['--lazy', this.dataDir]);
  }
}

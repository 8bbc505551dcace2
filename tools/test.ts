// Runs the test files under the given paths (default: all of src and test) with node:test.
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';

const roots = process.argv.slice(2).filter((a) => !a.startsWith('-'));
const flags = process.argv.slice(2).filter((a) => a.startsWith('-'));
const files = (roots.length > 0 ? roots : ['src', 'test']).flatMap((root) =>
  root.endsWith('.ts') ? [root] : globSync(`${root}/**/*.test.ts`).sort(),
);
if (files.length === 0) {
  console.error('no test files found');
  process.exit(1);
}
// Many tests wait for other processes, the disk or timers: one more file runs at once than there are processors.
const concurrency = availableParallelism() + 1;
const args = [
  ...['--test', '--test-reporter=spec', '--test-timeout=120000', `--test-concurrency=${concurrency}`],
  ...flags,
  ...files,
];
// Each file runs in a process; they share compiled code.
const env = { NODE_COMPILE_CACHE: resolve('node_modules/.cache/tests'), ...memoryFolder(), ...process.env };
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit', env }).status ?? 1);

/**
 * Temporary folders in memory, where there is much of it: nodes under test sync their files by the thousand. Tests end processes, not the
 * power supply, so that a sync to memory proves as much. Set TMPDIR to use a disk.
 */
function memoryFolder(): { TMPDIR?: string } {
  const folder = '/dev/shm';
  try {
    const { bavail, bsize } = statfsSync(folder);
    const isUsable =
      bavail * bsize >= 8 * 2 ** 30 &&
      !/^\S+ \/dev\/shm \S+ \S*noexec/m.test(readFileSync('/proc/mounts', 'utf8'));
    return isUsable ? { TMPDIR: folder } : {};
  } catch {
    return {};
  }
}

// Runs the test files under the given paths (default: all of test and src) with node:test, each in a process of its own, to which flags
// such as --test-name-pattern are passed.
import { globSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/** Ends only tests that hang: beside others on a busy machine a test may take several times as long as alone. */
const testTimeoutMs = 600_000;

const roots = process.argv.slice(2).filter((a) => !a.startsWith('-'));
const execArgv = process.argv.slice(2).filter((a) => a.startsWith('-'));
// The files of src are short: as the last ones they keep all processors in use until the end. `node --test` would sort the files.
const files = (roots.length > 0 ? roots : ['test', 'src']).flatMap((root) =>
  root.endsWith('.ts') ? [root] : globSync(`${root}/**/*.test.ts`).sort(),
);
if (files.length === 0) {
  console.error('no test files found');
  process.exit(1);
}
// A test file waits for most of its time, for other processes or timers, and uses a third of a processor.
const concurrency = availableParallelism() + 3;
// The processes share compiled code, with that of nodes and clouds, which `npm ci` compiles.
process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/divan');
process.env['TMPDIR'] ??= memoryFolder() ?? tmpdir();
const results = run({ files, concurrency, timeout: testTimeoutMs, execArgv });
results.on('test:summary', ({ success }) => {
  if (!success) process.exitCode = 1;
});
// The reader of the output has ended, such as `head`.
process.stdout.on('error', () => process.exit(1));
results.compose(spec).pipe(process.stdout);

/**
 * Temporary folders in memory, where there is much of it: nodes under test sync their files by the thousand. Tests end processes, not the
 * power supply, so that a sync to memory proves as much. Set TMPDIR to use a disk.
 */
function memoryFolder(): string | null {
  const folder = '/dev/shm';
  try {
    const { bavail, bsize } = statfsSync(folder);
    const isUsable =
      bavail * bsize >= 8 * 2 ** 30 &&
      !/^\S+ \/dev\/shm \S+ \S*noexec/m.test(readFileSync('/proc/mounts', 'utf8'));
    return isUsable ? folder : null;
  } catch {
    return null;
  }
}

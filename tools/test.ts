// Runs the test files under the given paths (default: all of src and test) with node:test.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
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
// Many tests wait for other processes, the disk or timers, so that two files run at once even on one processor.
const concurrency = Math.max(2, availableParallelism());
const args = [
  ...['--test', '--test-reporter=spec', '--test-timeout=120000', `--test-concurrency=${concurrency}`],
  ...flags,
  ...files,
];
// Each file runs in a process; they share compiled code.
const env = { NODE_COMPILE_CACHE: resolve('node_modules/.cache/tests'), ...process.env };
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit', env }).status ?? 1);

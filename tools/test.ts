// Runs the test files under the given paths (default: all of src and test) with node:test.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

const roots = process.argv.slice(2).filter((a) => !a.startsWith('-'));
const flags = process.argv.slice(2).filter((a) => a.startsWith('-'));
const files = (roots.length > 0 ? roots : ['src', 'test']).flatMap((root) =>
  root.endsWith('.ts') ? [root] : globSync(`${root}/**/*.test.ts`).sort(),
);
if (files.length === 0) {
  console.error('no test files found');
  process.exit(1);
}
const args = ['--test', '--test-reporter=spec', '--test-timeout=120000', ...flags, ...files];
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1);

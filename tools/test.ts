// Runs the test files under the given paths (default: all of test and src) with node:test: several files of src in one process, each
// other file in a process of its own. Flags such as --test-name-pattern are passed to the processes.
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { shareEnvironment } from './shared-environment.ts';

/** Ends only tests that hang: beside others on a busy machine a test may take several times as long as alone. */
const testTimeoutMs = 600_000;

/** A process that starts and loads the modules of an area takes longer than the tests of most files. */
const filesPerProcess = 12;

/**
 * Files of src that contain one of these do not share a process: hooks outside of tests and suites would be hooks of the other files too,
 * and what changes or measures the process would disturb other files, or be disturbed by them.
 */
const ownProcess =
  /^(before|after|beforeEach|afterEach)\(|\bprocess\.(on|once|\w*Usage|umask|chdir|exit|std\w+|argv)\b|\benv\[[^\]]*\] *=|\benv = |delete process|globalThis|'node:(v8|vm)'/m;

const roots = process.argv.slice(2).filter((a) => !a.startsWith('-'));
const execArgv = [
  `--import=${new URL('../test/support/test-context.js', import.meta.url)}`,
  ...process.argv.slice(2).filter((a) => a.startsWith('-')),
];
const found = (roots.length > 0 ? roots : ['test', 'src']).flatMap((root) =>
  root.endsWith('.ts') ? [root] : globSync(`${root}/**/*.test.ts`).sort(),
);
if (found.length === 0) {
  console.error('no test files found');
  process.exit(1);
}
// A test file waits for most of its time, for other processes or timers, and uses a third of a processor.
const concurrency = availableParallelism() + 3;
await shareEnvironment();
const scratch = mkdtempSync(join(tmpdir(), 'divan-tests-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
const isOfSrc = (file: string): boolean => !relative('src', file).startsWith('..');
const isShared = (file: string): boolean =>
  isOfSrc(file) && existsSync(file) && !ownProcess.test(readFileSync(file, 'utf8'));
const shared = found.filter(isShared);
const alone = found.filter((file) => !shared.includes(file));
// The files of src are short: as the last ones they keep all processors in use until the end. `node --test` would sort the files.
const files = [
  ...alone.filter((file) => !isOfSrc(file)),
  ...groupsOf(shared),
  ...alone.filter((file) => isOfSrc(file)),
];
const results = run({ files, concurrency, timeout: testTimeoutMs, execArgv });
results.on('test:summary', ({ success }) => {
  if (!success) process.exitCode = 1;
});
// The reader of the output has ended, such as `head`.
process.stdout.on('error', () => process.exit(1));
results.compose(spec).pipe(process.stdout);

/** Writes modules that import several test files each. The name of a module, which is printed when it fails as a whole, names its first and last file. */
function groupsOf(shared: readonly string[]): string[] {
  const groups: string[] = [];
  for (let at = 0; at < shared.length; at += filesPerProcess) {
    const members = shared.slice(at, at + filesPerProcess);
    if (members.length === 1) {
      groups.push(members[0] as string);
      continue;
    }
    const [first, last] = [members[0], members.at(-1)].map((file) => (file as string).replaceAll('/', '+'));
    const group = join(scratch, `${first} to ${last}.js`);
    writeFileSync(group, members.map((file) => `import '${pathToFileURL(resolve(file))}';\n`).join(''));
    groups.push(group);
  }
  return groups;
}

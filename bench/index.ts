// Runs a benchmark by name: `npm run bench -- <name>`. Without one, lists them. `smoke` runs each briefly, to see that it works: several at the
// same time, since their figures count for nothing.
import { type ExecFileException, execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { shareEnvironment } from '../tools/shared-environment.ts';

interface Benchmark {
  run(options: { smoke: boolean }): Promise<void>;
}

const files = globSync('bench/*.bench.ts').sort();
const names = files.map((file) => file.slice('bench/'.length, -'.bench.ts'.length));
const [name = ''] = process.argv.slice(2);
/** Set for the processes of a run of all benchmarks. */
const brieflyVariable = 'DIVAN_BENCH_BRIEFLY';
/** `peers` contains these benchmarks as groups: `smoke` runs them only there. */
const alsoInPeers = ['many', 'mixed'];
/** `smoke` begins with these, which take longest: at the end of the run the others keep all processors in use. */
const longest = ['cluster', 'peers', 'query', 'xdcr', 'cloud', 'backup', 'rest'];
/** Each takes less than a minute alone: one that has not ended by then waits for something that does not happen. */
const endedByMs = 300_000;
if (name === 'smoke') await runAllBriefly(names.filter((each) => !alsoInPeers.includes(each)));
else if (names.includes(name)) await runOne(name, process.env[brieflyVariable] !== undefined);
else {
  console.log(`usage: npm run bench -- <${['smoke', ...names].join('|')}>`);
  process.exit(name === '' ? 0 : 1);
}

async function runOne(name: string, smoke: boolean): Promise<void> {
  console.log(`# ${name}`);
  const bench = (await import(`./${name}.bench.ts`)) as Benchmark;
  await bench.run({ smoke });
}

/** Each runs in a process of its own, which prints when it has ended. The process ends with 1 when one fails. Temporary folders may be in memory, unlike those of a measurement. */
async function runAllBriefly(names: readonly string[]): Promise<void> {
  await shareEnvironment();
  const left = [...longest, ...names.filter((name) => !longest.includes(name))];
  const runNext = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await runBriefly(name);
  };
  await Promise.all(Array.from({ length: availableParallelism() + 2 }, runNext));
}

async function runBriefly(name: string): Promise<void> {
  const options = {
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, [brieflyVariable]: 'yes' },
    timeout: endedByMs,
  };
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [import.meta.filename, name],
      options,
    );
    process.stdout.write(stdout);
    process.stderr.write(stderr);
  } catch (error) {
    const { stdout, stderr, message, killed } = error as ExecFileException &
      Record<'stdout' | 'stderr', string>;
    const reason = killed === true ? `it has not ended in ${endedByMs / 1_000} s` : message;
    console.error(`# ${name} failed: ${reason}\n${stdout}${stderr}`);
    process.exitCode = 1;
  }
}

// The results of comparisons with other servers: one file for each commit, from which `npm run docs` makes the page of figures.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir, totalmem } from 'node:os';

/** How often and how long each comparison measures. */
export interface Extent {
  readonly rounds: number;
  readonly seconds: number;
}

export interface Figure {
  /** A section of the page of figures. */
  readonly group: string;
  readonly server: string;
  /** The kind of load, or the query, that was measured. */
  readonly shape: string;
  readonly unit: string;
  /** One for each round. */
  readonly values: readonly number[];
  /** Processor time of all threads of the server for one operation, in microseconds; one for each round. */
  readonly cpuMicroseconds?: readonly number[];
}

export interface Results {
  readonly commit: string;
  /** The end of the run, in ISO 8601. */
  readonly at: string;
  readonly machine: string;
  /** The load average of one minute before the run, and at its end. */
  readonly load: readonly [number, number];
  readonly figures: readonly Figure[];
}

const folder = 'bench/results';

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

export function writeResults(figures: readonly Figure[], loadBefore: number): string {
  const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' }).trim();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const results: Results = {
    commit,
    at: new Date().toISOString(),
    machine: `${cpus().length} processors (${cpus()[0]?.model}), ${memory}, Node ${process.versions.node}, data in ${tmpdir()}`,
    load: [rounded(loadBefore), rounded(loadavg()[0] as number)],
    figures: figures.map(withRounding),
  };
  mkdirSync(folder, { recursive: true });
  const file = `${folder}/${commit}.json`;
  writeFileSync(file, `${JSON.stringify(results, null, 1).replace(/\[[\s\d.,-]+\]/g, onOneLine)}\n`);
  return file;
}

/** The results of all commits, the oldest first. */
export function readResults(): Results[] {
  if (!existsSync(folder)) return [];
  const all = globSync(`${folder}/*.json`).map((file) => JSON.parse(readFileSync(file, 'utf8')) as Results);
  return all.sort((a, b) => (a.at < b.at ? -1 : 1));
}

const rounded = (value: number): number => Number(value.toPrecision(4));
const onOneLine = (list: string): string => list.replace(/\s+/g, ' ');

const withRounding = (figure: Figure): Figure => ({
  ...figure,
  values: figure.values.map(rounded),
  ...(figure.cpuMicroseconds && { cpuMicroseconds: figure.cpuMicroseconds.map(rounded) }),
});

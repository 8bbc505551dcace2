// Processor time and memory of a server with all its processes, from /proc.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const millisecondsPerTick = 10;
/** Positions in `statOf` of processor time, in ticks: of the process, and of its children that ended and were waited for. */
const ownTime = [11, 12];
const endedChildrenTime = [13, 14];

/** Milliseconds of all threads of a process, of its living children and of those that ended. */
export function serverMs(pid: number): number {
  let ticks = 0;
  for (const [id, fields] of processes()) {
    if (id === pid) ticks += sum(fields, [...ownTime, ...endedChildrenTime]);
    else if (Number(fields[1]) === pid) ticks += sum(fields, ownTime);
  }
  return ticks * millisecondsPerTick;
}

/** Milliseconds of all threads of one process. */
export function processMs(pid: number): number {
  return sum(statOf(pid), ownTime) * millisecondsPerTick;
}

/** Milliseconds of all threads that live, finer than the ticks of `stat`. */
export const threadsMs = (pid: number): number =>
  [...timesOfThreads(pid)].reduce((total, [, ms]) => total + ms, 0);

/** Starts to count the milliseconds of a server as `serverMs` does, but finer, and without those of threads that end meanwhile. */
export function fineServerMs(pid: number): () => number {
  const before = new Map(timesOfServer(pid));
  return () => [...timesOfServer(pid)].reduce((total, [task, ms]) => total + ms - (before.get(task) ?? 0), 0);
}

function* timesOfServer(pid: number): Generator<[string, number]> {
  yield* timesOfThreads(pid);
  for (const [id, fields] of processes()) if (Number(fields[1]) === pid) yield* timesOfThreads(id);
}

function* timesOfThreads(pid: number): Generator<[string, number]> {
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ');
    yield [task, Number(nanoseconds) / 1e6];
  }
}

export const residentMb = (pid: number): number => statusMb(pid, 'VmRSS');

/** The peak since `resetPeak`. */
export const peakMb = (pid: number): number => statusMb(pid, 'VmHWM');

export const resetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

function statusMb(pid: number, name: string): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1]) / 1024;
}

function* processes(): Generator<[number, string[]]> {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      yield [Number(name), statOf(Number(name))];
    } catch {} // the process has ended
  }
}

/** The fields of `/proc/<pid>/stat` after the name of the program, which may contain blanks. */
function statOf(pid: number): string[] {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  return rest.split(' ');
}

const sum = (fields: readonly string[], positions: readonly number[]): number =>
  positions.reduce((total, position) => total + Number(fields[position]), 0);

// Records the process of a node before it starts working, so that a later cloud process finds it. Process ids are reused, so the record
// includes the start time.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#ports/clock.ts';
import { writePrivate } from '#ports/private-file.ts';

export interface ProcessRecord {
  readonly pid: number;
  /** On Linux the ticks from the boot to the start, and the id of the boot; elsewhere the start as `ps` shows it. */
  readonly started: string;
}

const file = 'process.json';
const pollEveryMs = 25;
/** SIGKILL follows SIGTERM after this time. */
const killAfterMs = 10_000;

export function writeRecord(folder: string, pid: number): ProcessRecord {
  const started = startOf(pid);
  if (started === null) throw new Error('the process ended at once');
  const record = { pid, started };
  writePrivate(join(folder, file), JSON.stringify(record));
  return record;
}

/** The recorded process of a folder, if it still runs. */
export function runningProcess(folder: string): ProcessRecord | null {
  const record = readRecord(folder);
  return record !== null && isRunning(record) ? record : null;
}

export const isRunning = ({ pid, started }: ProcessRecord): boolean => startOf(pid) === started;

/** Stops the process; kills it if it ignores SIGTERM. */
export async function endProcess(
  record: ProcessRecord,
  signal: 'SIGTERM' | 'SIGKILL',
  clock: Clock,
): Promise<void> {
  send(record, signal);
  const startedMs = clock.monotonicMs();
  while (isRunning(record)) {
    const waitedMs = clock.monotonicMs() - startedMs;
    if (waitedMs > 2 * killAfterMs) throw new Error(`process ${record.pid} does not end after SIGKILL`);
    if (waitedMs > killAfterMs) send(record, 'SIGKILL');
    await clock.sleep(pollEveryMs);
  }
}

function send(record: ProcessRecord, signal: NodeJS.Signals): void {
  if (!isRunning(record)) return;
  try {
    process.kill(record.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readRecord(folder: string): ProcessRecord | null {
  try {
    return JSON.parse(readFileSync(join(folder, file), 'utf8')) as ProcessRecord;
  } catch (error) {
    // ENOTDIR: a file among the folders of the nodes, such as `.DS_Store`.
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/** Null if there is no such process or it is a zombie. */
const startOf = (pid: number): string | null => (process.platform === 'linux' ? fromProc(pid) : fromPs(pid));

/** proc_pid_stat(5): what follows the name begins with field 3, the state; field 22 is the start, in ticks since boot. */
function fromProc(pid: number): string | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  return `${fields[22 - 3]} of ${read('/proc/sys/kernel/random/boot_id')?.trim()}`;
}

function fromPs(pid: number): string | null {
  const { stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' });
  const [state, ...start] = (stdout ?? '').trim().split(/\s+/);
  return !state || state.startsWith('Z') ? null : start.join(' ');
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

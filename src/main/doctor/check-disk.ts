// Checks of `divan doctor` about the disk of the data folder: whether it can be written, has room and keeps what is written, and how fast it is.
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { realClock } from '#ports/clock.ts';
import { holderOf } from '#ports/folder-lock.ts';
import { sizeText } from '../terminal.ts';
import { type Finding, good, problem, warning } from './finding.ts';

const freeBytesMin = 200_000_000;
const freeBytesAdvised = 2_000_000_000;
const slowSyncMs = 30;
const syncCount = 9;

/** Types of file systems in memory, as `statfs` names them: tmpfs and ramfs. */
const memoryTypes = new Set([0x01021994, 0x858458f6]);
/** NFS, CIFS, SMB, SMB 2 and 3, Ceph, 9P. */
const networkTypes = new Set([0x6969, 0xff534d42, 0x517b, 0xfe534d42, 0xc36400, 0x1021997]);

export function checkDisk(dataDir: string): Finding[] {
  const folder = resolve(dataDir);
  const existing = nearestExisting(folder);
  const place = existing === folder ? folder : `${folder} (it will be created in ${existing})`;
  if (!statSync(existing).isDirectory())
    return [problem('data folder', `${existing} is no folder`, 'give another one: --data-dir PATH')];
  if (!isAllowed(existing, constants.R_OK | constants.W_OK | constants.X_OK))
    return [problem('data folder', `this user may not write to ${place}`, ownershipAdvice(existing))];
  // The first file that a node opens in its folder.
  const lockFile = join(folder, 'lock.db');
  if (existsSync(lockFile) && !isAllowed(lockFile, constants.R_OK | constants.W_OK))
    return [problem('data folder', `this user may not write to ${lockFile}`, ownershipAdvice(existing))];
  return [checkFolder(folder, place), checkRoom(existing), checkFileSystem(existing), checkSync(existing)];
}

function isAllowed(path: string, access: number): boolean {
  try {
    accessSync(path, access);
    return true;
  } catch {
    return false;
  }
}

const ownershipAdvice = (folder: string): string =>
  `give it to this user (chown -R ${userName()} ${folder}), or give another one: --data-dir PATH`;

function checkFolder(folder: string, place: string): Finding {
  const pid = holderOf(folder);
  return good('data folder', pid === null ? place : `${place}; process ${pid} runs in it`);
}

function checkRoom(folder: string): Finding {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const text = `${sizeText(free)} are free`;
  if (free >= freeBytesAdvised) return good('disk', text);
  const advice = 'remove other files, or give a folder on a larger disk: --data-dir PATH';
  return free < freeBytesMin
    ? problem('disk', `only ${text}`, advice)
    : warning('disk', `only ${text}`, advice);
}

function checkFileSystem(folder: string): Finding {
  const { type } = statfsSync(folder);
  if (memoryTypes.has(type))
    return warning(
      'file system',
      'the data folder is in memory: a restart of the machine loses it',
      'fine for tests; else give a folder on a disk',
    );
  if (networkTypes.has(type))
    return warning(
      'file system',
      'the data folder is on a network: locks and syncs may not work there',
      'give a folder on a disk of this machine',
    );
  return good('file system', 'a disk of this machine');
}

/** A durable write waits for one sync. */
function checkSync(folder: string): Finding {
  try {
    return measuredSync(folder);
  } catch (error) {
    const advice = 'free space on the disk, or give another folder: --data-dir PATH';
    return problem('durable writes', `a file cannot be written: ${(error as Error).message}`, advice);
  }
}

function measuredSync(folder: string): Finding {
  const scratch = mkdtempSync(join(folder, '.divan-doctor-'));
  try {
    const times = Array.from({ length: syncCount }, () => syncMs(join(scratch, 'file'))).sort(
      (a, b) => a - b,
    );
    const median = times[syncCount >> 1] as number;
    const text = `a write is on the disk after ${median.toFixed(1)} ms`;
    if (median <= slowSyncMs) return good('durable writes', text);
    return warning('durable writes', text, 'durable writes will be as slow; use a local SSD');
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function syncMs(path: string): number {
  const file = openSync(path, 'a');
  try {
    const startedMs = realClock.monotonicMs();
    writeSync(file, Buffer.alloc(4_096));
    fsyncSync(file);
    return realClock.monotonicMs() - startedMs;
  } finally {
    closeSync(file);
  }
}

function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(dirname(folder));
}

const userName = (): string => process.env['USER'] ?? String(process.getuid?.() ?? 'you');

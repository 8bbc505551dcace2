// Files of an archive: the small ones are read whole and replaced atomically. An archive is untrusted input, so only regular files are opened,
// and small ones have a size limit: a symbolic link could lead out of the archive, and a pipe would stall the reader.
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { syncPath } from '#ports/sync-path.ts';
import { BackupError } from '../format/backup-error.ts';

const bytesMaxDefault = 8 << 20;

/** Opens a file for reading. @throws BackupError unless it is a regular file */
export function openRegular(path: string): number {
  let file: number;
  try {
    file = withoutLinks(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw new BackupError(`cannot read ${path}: ${(error as Error).message}`);
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw notRegular(path);
}

/** Creates or empties a file. @throws BackupError for a symbolic link, which could lead out of the archive */
export function createRegular(path: string): number {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants;
  return withoutLinks(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK);
}

/** Opens a file for reading and writing. @throws BackupError for a symbolic link */
export const reopenRegular = (path: string): number =>
  withoutLinks(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);

function withoutLinks(path: string, flags: number): number {
  try {
    return openSync(path, flags, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw notRegular(path);
    throw error;
  }
}

const notRegular = (path: string): BackupError => new BackupError(`${path} is not a regular file`);

/** @throws BackupError when it cannot be read or is too large */
export function readSmall(path: string, bytesMax = bytesMaxDefault): Buffer {
  const file = openRegular(path);
  try {
    if (fstatSync(file).size > bytesMax) throw new BackupError(`${path} has more than ${bytesMax} bytes`);
    return readFileSync(file);
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw new BackupError(`cannot read ${path}: ${(error as Error).message}`);
  } finally {
    closeSync(file);
  }
}

/** Returns `{}` for the JSON text `null`, so that the caller can read fields of any result. @throws BackupError */
export function readJson(path: string): unknown {
  const text = readSmall(path).toString();
  try {
    return JSON.parse(text) ?? {};
  } catch (error) {
    throw new BackupError(`${path} is not JSON: ${(error as Error).message}`);
  }
}

/** Codes of errors that the disk or the rights to it cause. */
const writeProblems = new Set([
  'ENOSPC',
  'EDQUOT',
  'EFBIG',
  'EROFS',
  'EACCES',
  'EPERM',
  'EIO',
  'ENOENT',
  'ESTALE',
]);

/** For an error of the disk, a BackupError with the folder and its free space; any other error unchanged. */
export function diskProblem(error: Error, folder: string): Error {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error instanceof BackupError || !writeProblems.has(code)) return error;
  return new BackupError(`cannot write to ${folder}${freeSpace(folder)}: ${error.message}`);
}

function freeSpace(folder: string): string {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return ` (${Math.floor((bavail * bsize) / (1 << 20))} MiB free)`;
  } catch {
    return '';
  }
}

/** Replaces a file atomically: after a crash the path has the old content, the new content, or no file. */
export function writeWhole(path: string, text: string): void {
  const temporary = `${path}.new`;
  const file = createRegular(temporary);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  syncPath(dirname(path));
}

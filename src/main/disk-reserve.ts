// Space that a node keeps for its own next start: on a disk that others have filled up it could not even take its lock,
// and nobody could read from it. A start on a full disk gives the reserve up, the next one with room makes it anew.
import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const reserveBytes = 8 * 1024 * 1024;
/** The reserve is not made of what others need. */
const roomForReserveBytes = 4 * reserveBytes;
const chunkBytes = 64 * 1024;

/** Before anything is written: the folder may not be there yet. */
export function useReserve(folder: string): void {
  if (existsSync(folder) && freeBytes(folder) < reserveBytes) rmSync(pathIn(folder), { force: true });
}

/** Once the node serves. A disk that fills up just now is no reason to fail. */
export function keepReserve(folder: string): void {
  const path = pathIn(folder);
  if (existsSync(path) || freeBytes(folder) < roomForReserveBytes) return;
  try {
    fill(path);
  } catch {
    rmSync(path, { force: true });
  }
}

const pathIn = (folder: string): string => join(folder, 'reserve');

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

function fill(path: string): void {
  const descriptor = openSync(path, 'w', 0o600);
  try {
    const chunk = Buffer.alloc(chunkBytes);
    for (let written = 0; written < reserveBytes; ) written += writeSync(descriptor, chunk);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

// Fills the file system of a file until it has no space left.
import { closeSync, openSync, writeSync } from 'node:fs';

export function fillDisk(path: string): void {
  const descriptor = openSync(path, 'a');
  try {
    fillDiskThrough(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Fills the disk by extending an open file, in smaller and smaller steps. */
export function fillDiskThrough(descriptor: number): void {
  for (let bytes = 1 << 20; bytes >= 1; ) {
    try {
      if (writeSync(descriptor, Buffer.alloc(bytes)) < bytes) bytes >>= 1;
    } catch {
      bytes >>= 1;
    }
  }
}

// Files of lines that are only appended to. A full disk or a crash may leave a part of a line at the end: the next line must not continue it.
import { readSync, writeSync } from 'node:fs';

const lineEnd = 10;

/** Ends the last line of a file that was opened with `a+`, if a line end is missing; returns the new size of the file. */
export function endLastLine(descriptor: number, size: number): number {
  if (size === 0) return 0;
  const last = Buffer.alloc(1);
  readSync(descriptor, last, 0, 1, size - 1);
  return last[0] === lineEnd ? size : size + writeSync(descriptor, '\n');
}

/** @throws Error also when the system takes only a part of the line, as on a full disk */
export function writeWholeLine(descriptor: number, line: Uint8Array): void {
  if (writeSync(descriptor, line) < line.length) throw new Error('only a part of the line was written');
}

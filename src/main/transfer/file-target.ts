// The file that an export writes, a pipe, or standard output. `open` truncates what an interrupted export wrote after the saved length.

import { once } from 'node:events';
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { CommandError } from '../exit-status.ts';

/** Whether what is written there cannot be read again: standard output (`-`), a named pipe, or a device such as /dev/stdout. */
export const isStream = (path: string): boolean => {
  const found = path === '-' ? undefined : statSync(path, { throwIfNoEntry: false });
  return path === '-' || (found !== undefined && !found.isFile() && !found.isDirectory());
};

export class FileTarget {
  bytes: number;
  private readonly file: number | null;
  /** A pipe has neither positions nor a sync. */
  private readonly isPlainFile: boolean;

  private constructor(file: number | null, bytes: number) {
    this.file = file;
    this.bytes = bytes;
    this.isPlainFile = file !== null && fstatSync(file).isFile();
  }

  /** `-`: standard output. `bytes`: what an earlier export wrote; null: a new file. @throws CommandError */
  static open(path: string, bytes: number | null): FileTarget {
    if (path === '-') return new FileTarget(null, 0);
    try {
      const file = openSync(path, bytes === null ? 'w' : 'r+', 0o600);
      if (bytes === null) return new FileTarget(file, 0);
      if (fstatSync(file).size >= bytes) {
        ftruncateSync(file, bytes);
        return new FileTarget(file, bytes);
      }
      closeSync(file);
    } catch (error) {
      throw new CommandError(`FILE: cannot write ${path}: ${(error as Error).message}`);
    }
    throw new CommandError(
      `--resume: ${path} is shorter than the interrupted export left it; start without --resume`,
    );
  }

  async write(text: string): Promise<void> {
    if (this.file === null) {
      if (!process.stdout.write(text)) await once(process.stdout, 'drain');
      return;
    }
    const content = Buffer.from(text);
    for (let done = 0; done < content.length; )
      done += writeSync(this.file, content, done, content.length - done, this.positionAt(done));
    this.bytes += content.length;
  }

  private positionAt(done: number): number | null {
    return this.isPlainFile ? this.bytes + done : null;
  }

  sync(): void {
    if (this.file !== null && this.isPlainFile) fsyncSync(this.file);
  }

  [Symbol.dispose](): void {
    if (this.file !== null) closeSync(this.file);
  }
}

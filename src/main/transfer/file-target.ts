// The file that an export writes, or standard output. `open` truncates what an interrupted export wrote after the saved length.

import { once } from 'node:events';
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { CommandError } from '../exit-status.ts';

export class FileTarget {
  bytes: number;
  private readonly file: number | null;

  private constructor(file: number | null, bytes: number) {
    this.file = file;
    this.bytes = bytes;
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
      done += writeSync(this.file, content, done, content.length - done, this.bytes + done);
    this.bytes += content.length;
  }

  sync(): void {
    if (this.file !== null) fsyncSync(this.file);
  }

  [Symbol.dispose](): void {
    if (this.file !== null) closeSync(this.file);
  }
}

// The node's log in a file of its data folder, for support bundles: `node.log`, and a few older ones beside it.
import { closeSync, fstatSync, mkdirSync, openSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { endLastLine, writeWholeLine } from '#ports/last-line.ts';

const current = 'node.log';

export interface NodeLogBounds {
  /** A file of this size is closed and a new one started. */
  bytes: number;
  /** The number of older files; `node.1.log` is the newest. */
  older: number;
}

const defaultBounds: NodeLogBounds = { bytes: 5 << 20, older: 4 };

export class NodeLogFile {
  readonly #folder: string;
  readonly #bounds: NodeLogBounds;
  /** Null before the first line. */
  #file: { fd: number; bytes: number } | null = null;

  constructor(folder: string, bounds = defaultBounds) {
    this.#folder = folder;
    this.#bounds = bounds;
  }

  /** Throws if the line cannot be written; the next one tries again. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    let file = this.#opened() ?? this.#open();
    if (file.bytes > 0 && file.bytes + bytes.length > this.#bounds.bytes) file = this.#rotate();
    try {
      writeWholeLine(file.fd, bytes);
    } catch (error) {
      this.#close();
      throw error;
    }
    file.bytes += bytes.length;
  }

  /** Null also after somebody has deleted the file: what is written to it could not be read. */
  #opened(): { fd: number; bytes: number } | null {
    if (this.#file !== null && fstatSync(this.#file.fd).nlink === 0) this.#close();
    return this.#file;
  }

  #open(): { fd: number; bytes: number } {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const fd = openSync(join(this.#folder, current), 'a+', 0o600);
    try {
      this.#file = { fd, bytes: endLastLine(fd, fstatSync(fd).size) };
      return this.#file;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  #close(): void {
    if (this.#file) closeSync(this.#file.fd);
    this.#file = null;
  }

  #rotate(): { fd: number; bytes: number } {
    this.#close();
    const names = [current, ...Array.from({ length: this.#bounds.older }, (_, at) => `node.${at + 1}.log`)];
    for (let at = names.length - 1; at > 0; at--) this.#rename(names[at - 1] as string, names[at] as string);
    return this.#open();
  }

  #rename(from: string, to: string): void {
    try {
      renameSync(join(this.#folder, from), join(this.#folder, to));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

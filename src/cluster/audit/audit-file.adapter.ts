// The audit log in a folder: `audit.log`, and rotated files named by the time of their end.
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { endLastLine, writeWholeLine } from '#ports/last-line.ts';
import type { AuditFile } from './audit-file.ts';

/** Rotated files beyond this number are removed. */
const oldFilesMax = 100;
const current = 'audit.log';
const oldName = /^audit-\d{4}-\d\d-\d\dT[\d.-]+Z\.log$/;

interface Open {
  folder: string;
  fd: number;
  bytes: number;
  startedMs: number;
}

export class FolderAudit implements AuditFile {
  readonly #wallMs: () => number;
  #open: Open | null = null;

  constructor(wallMs: () => number) {
    this.#wallMs = wallMs;
  }

  append(folder: string, line: string, limits: { rotateSeconds: number; rotateBytes: number }): void {
    const bytes = Buffer.from(`${line}\n`);
    let file = this.#openedIn(folder) ?? this.#openIn(folder);
    // Also rotates a file that was begun while the clock was far ahead: its age is negative until the clock reaches that time again.
    const isOld = Math.abs(this.#wallMs() - file.startedMs) >= limits.rotateSeconds * 1000;
    const isLarge = limits.rotateBytes > 0 && file.bytes + bytes.length > limits.rotateBytes;
    if (file.bytes > 0 && (isOld || isLarge)) file = this.#rotate(file);
    try {
      writeWholeLine(file.fd, bytes);
    } catch (error) {
      this.close();
      throw error;
    }
    file.bytes += bytes.length;
  }

  async problem(folder: string): Promise<string | null> {
    if (!isAbsolute(folder)) return 'The value must be a valid directory';
    try {
      if (!(await stat(folder)).isDirectory()) return 'The value must be a valid directory';
      await access(folder, constants.W_OK);
      return null;
    } catch {
      return 'The value must be a valid directory';
    }
  }

  close(): void {
    if (this.#open) closeSync(this.#open.fd);
    this.#open = null;
  }

  /** Null also after somebody has deleted the file: what is written to it could not be read. */
  #openedIn(folder: string): Open | null {
    return this.#open?.folder === folder && fstatSync(this.#open.fd).nlink > 0 ? this.#open : null;
  }

  #openIn(folder: string): Open {
    this.close();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const fd = openSync(join(folder, current), 'a+', 0o600);
    try {
      const { size, birthtimeMs } = fstatSync(fd);
      const startedMs = size > 0 ? birthtimeMs : this.#wallMs();
      this.#open = { folder, fd, bytes: endLastLine(fd, size), startedMs };
      return this.#open;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  #rotate({ folder }: Open): Open {
    this.close();
    renameSync(join(folder, current), unusedPath(folder, this.#wallMs()));
    removeOldFiles(folder);
    return this.#openIn(folder);
  }
}

/** Keeps files that cannot be removed: the event for which the file is rotated must be recorded. */
function removeOldFiles(folder: string): void {
  const old = readdirSync(folder)
    .filter((name) => oldName.test(name))
    .sort();
  for (const name of old.slice(0, Math.max(old.length - oldFilesMax, 0))) {
    try {
      rmSync(join(folder, name));
    } catch {
      // The next rotation tries again.
    }
  }
}

/** The path of a file that is rotated now; a later millisecond if there is one of this millisecond already. */
function unusedPath(folder: string, wallMs: number): string {
  const time = new Date(wallMs).toISOString().replaceAll(':', '-');
  const path = join(folder, `audit-${time}.log`);
  return existsSync(path) ? unusedPath(folder, wallMs + 1) : path;
}

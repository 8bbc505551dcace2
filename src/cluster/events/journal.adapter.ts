// A journal in numbered files of a folder. Every line is written to the operating system before `append` returns, so that it
// survives the end of the process; syncs to disk follow, one at a time, until every line is synced.
import { closeSync, fdatasync, fstatSync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endLastLine, writeWholeLine } from '#ports/last-line.ts';
import type { Journal, JournalBounds } from './journal.ts';
import { checkLine, withChecksum } from './line-checksum.ts';

/** A line whose checksum does not match. */
export interface JournalDamage {
  path: string;
  line: number;
}

const damagesReportedMax = 100;

interface OpenFile {
  fd: number;
  number: number;
  bytes: number;
  isSyncing: boolean;
  /** Lines were written since the running sync began. */
  isAhead: boolean;
  /** Whether the file is closed after its last sync. */
  isRetired: boolean;
}

/** The signature of Node's `fdatasync`. */
type Sync = (fd: number, done: (error: Error | null) => void) => void;

export class FolderJournal implements Journal {
  readonly #folder: string;
  readonly #name: string;
  readonly #bounds: JournalBounds;
  readonly #onDamage: (damage: JournalDamage) => void;
  /** Damaged lines that were reported already. */
  readonly #damaged = new Set<string>();
  #file: OpenFile | null = null;
  readonly #fdatasync: Sync;

  constructor(
    folder: string,
    name: string,
    bounds: JournalBounds,
    onDamage: (damage: JournalDamage) => void = () => {},
    sync: Sync = fdatasync,
  ) {
    this.#folder = folder;
    this.#name = name;
    this.#bounds = bounds;
    this.#onDamage = onDamage;
    this.#fdatasync = sync;
  }

  append(line: string): void {
    const bytes = Buffer.from(`${withChecksum(line)}\n`);
    const file = this.#fileFor(bytes.length);
    try {
      writeWholeLine(file.fd, bytes);
    } catch (error) {
      this.close();
      throw error;
    }
    file.bytes += bytes.length;
    this.#sync(file);
  }

  async *segments(): AsyncGenerator<string[]> {
    for (const number of this.#numbers().reverse()) {
      const path = this.#path(number);
      const text = await readFile(path, 'utf8').catch(absentIsEmpty);
      yield this.#wholeLines(path, text.split('\n'));
    }
  }

  /** Skips lines that do not match their checksum, and lines without one that follow lines with one. */
  #wholeLines(path: string, lines: readonly string[]): string[] {
    let hasChecksums = false;
    return lines.flatMap((text, index) => {
      if (text === '') return [];
      const checked = checkLine(text);
      hasChecksums ||= checked.kind === 'whole';
      // A crash may truncate the last line; the event log skips it.
      const isCutOff = checked.kind === 'without checksum' && !text.endsWith('}');
      const isWhole = checked.kind === 'whole' || (checked.kind !== 'damaged' && !hasChecksums);
      if (isWhole || isCutOff) return [checked.line];
      this.#report({ path, line: index + 1 });
      return [];
    });
  }

  #report(damage: JournalDamage): void {
    const name = `${damage.path} ${damage.line}`;
    if (this.#damaged.has(name) || this.#damaged.size >= damagesReportedMax) return;
    this.#damaged.add(name);
    this.#onDamage(damage);
  }

  close(): void {
    const file = this.#file;
    this.#file = null;
    if (file?.isSyncing) file.isRetired = true;
    else if (file) closeSync(file.fd);
  }

  #fileFor(bytes: number): OpenFile {
    this.#file ??= this.#open(this.#numbers().at(-1) ?? 1);
    if (this.#file.bytes > 0 && this.#file.bytes + bytes > this.#bounds.segmentBytes) {
      const next = this.#file.number + 1;
      this.close();
      this.#file = this.#open(next);
      this.#dropOld();
    }
    return this.#file;
  }

  #open(number: number): OpenFile {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const fd = openSync(this.#path(number), 'a+', 0o600);
    try {
      const bytes = endLastLine(fd, fstatSync(fd).size);
      return { fd, number, bytes, isSyncing: false, isAhead: false, isRetired: false };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  #dropOld(): void {
    for (const number of this.#numbers().slice(0, -this.#bounds.segments)) rmSync(this.#path(number));
  }

  #sync(file: OpenFile): void {
    file.isAhead = file.isSyncing;
    if (file.isSyncing) return;
    file.isSyncing = true;
    // A failed sync is not reported: the operating system has the line, as `append` promises.
    this.#fdatasync(file.fd, () => {
      file.isSyncing = false;
      if (file.isAhead) this.#sync(file);
      else if (file.isRetired) closeSync(file.fd);
    });
  }

  #numbers(): number[] {
    const pattern = new RegExp(`^${this.#name}\\.(\\d+)\\.jsonl$`);
    return filesOf(this.#folder)
      .flatMap((file) => pattern.exec(file)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  }

  #path(number: number): string {
    return join(this.#folder, `${this.#name}.${number}.jsonl`);
  }
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    return absentIsEmpty(error as NodeJS.ErrnoException, []);
  }
}

function absentIsEmpty<T = string>(error: NodeJS.ErrnoException, empty: T = '' as T): T {
  if (error.code === 'ENOENT') return empty;
  throw error;
}

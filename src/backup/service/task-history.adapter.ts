// The finished and running tasks of a repository: one line of JSON each, in a file beside it, so that every node that reaches the archive
// can show them. The newest are in memory too, for an archive that cannot be written.
import { appendFile, type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, nextTurn } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { BackupSettings } from './backup-state.ts';
import type { TaskRecord } from './task-record.ts';

export const historySuffix = '.tasks.jsonl';

const keptInMemory = 20;
const repositoriesInMemory = 1_000;
const newline = 0x0a;
const dayMs = 86_400_000;
const mib = 1 << 20;
/** A file that no node has written to for so long was left by a node that was killed during a rotation. */
const abandonedAfterMs = 600_000;
/** The most bytes of a record: longer lines are ignored. */
const lineMax = 256 << 10;
/** The file is read in chunks of this size, one in each turn of the thread. */
const chunkBytes = 64 << 10;
/** The most records that a read returns, and the most bytes of their lines: of more, the oldest are left out. */
export const historyMax = 10_000;
const readBytesMax = 8 * mib;

export interface HistoryPlace {
  readonly archive: string;
  readonly repo: string;
}

/** Which records a read returns: at most `count`, the newest of those that match. */
export interface ChosenTasks {
  /** Gets only fields that are the same in each record of a run. */
  readonly matches: (record: Pick<TaskRecord, 'startMs' | 'name'>) => boolean;
  readonly count: number;
}

const allTasks: ChosenTasks = { matches: () => true, count: historyMax };

export class TaskHistory {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #settings: () => BackupSettings;
  readonly #recent = new Map<string, TaskRecord[]>();
  /** One change of the files at a time. */
  #work: Promise<void> = Promise.resolve();

  constructor({ clock, log, settings }: { clock: Clock; log: Log; settings: () => BackupSettings }) {
    this.#clock = clock;
    this.#log = log;
    this.#settings = settings;
  }

  /** Adds a run, or its newer state. Never rejects: an archive that cannot be written is logged. */
  async note(place: HistoryPlace, record: TaskRecord): Promise<void> {
    const path = pathOf(place);
    const others = (this.#recent.get(path) ?? []).filter(({ run }) => run !== record.run);
    this.#recent.delete(path);
    this.#recent.set(path, [...others, record].slice(-keptInMemory));
    if (this.#recent.size > repositoriesInMemory)
      this.#recent.delete(this.#recent.keys().next().value as string);
    this.#work = this.#work.then(() => this.#write(path, record));
    await this.#work;
  }

  /** The newest first. Never rejects: an archive that cannot be read is logged. */
  async read(place: HistoryPlace, { matches, count }: ChosenTasks = allTasks): Promise<TaskRecord[]> {
    await this.#work;
    const path = pathOf(place);
    const newest = new NewestRecords();
    try {
      for await (const { record, bytes } of this.#lines(path)) if (matches(record)) newest.set(record, bytes);
    } catch (error) {
      this.#log.warn('backup.history_not_read', { path, reason: (error as Error).message });
    }
    for (const record of this.#recent.get(path) ?? []) if (matches(record)) newest.set(record, 0);
    return newest.records.sort((a, b) => b.startMs - a.startMs).slice(0, count);
  }

  async remove(place: HistoryPlace): Promise<void> {
    await this.#work;
    this.#recent.delete(pathOf(place));
    await rm(pathOf(place), { force: true });
  }

  async #write(path: string, record: TaskRecord): Promise<void> {
    try {
      await this.#rotate(path);
      const line = `${JSON.stringify(record)}\n`;
      await appendFile(path, (await endsWithinLine(path)) ? `\n${line}` : line, { mode: 0o600 });
    } catch (error) {
      this.#log.warn('backup.history_not_written', { path, reason: (error as Error).message });
    }
  }

  /** Removes records that are too old, and the older half of a file that is too large. Does nothing while another node does so. */
  async #rotate(path: string): Promise<void> {
    if ((await this.#dueRotation(path)) === null) return;
    const next = await this.#beginFile(`${path}.new`);
    if (next === null) return;
    try {
      // Read again: another node may have rotated the file meanwhile.
      const due = await this.#dueRotation(path);
      if (due === null) await rm(`${path}.new`, { force: true });
      else await this.#replace(path, next, due);
    } catch (error) {
      await rm(`${path}.new`, { force: true });
      throw error;
    } finally {
      await next.close();
    }
  }

  /** Null if the file needs no rotation. */
  async #dueRotation(path: string): Promise<Rotation | null> {
    const { history_rotation_period: days, history_rotation_size: size } = this.#settings();
    const found = await stat(path).catch(() => null);
    if (found === null) return null;
    const oldestMs = this.#clock.wallMs() - days * dayMs;
    const isTooLarge = found.size > size * mib;
    const first = await this.#firstStart(path);
    if (!isTooLarge && (first === null || first >= oldestMs)) return null;
    return { start: isTooLarge ? found.size - Math.floor((size * mib) / 2) : 0, end: found.size, oldestMs };
  }

  /** Null if another node has begun the file. */
  async #beginFile(path: string): Promise<FileHandle | null> {
    try {
      return await open(path, 'ax', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const begun = await stat(path).catch(() => null);
    // What a node that was killed has left: the next rotation begins the file.
    if (begun !== null && begun.mtimeMs < this.#clock.wallMs() - abandonedAfterMs)
      await rm(path, { force: true });
    return null;
  }

  /** Other nodes may add lines to the old file until the new one has its name: those are copied as well, the last ones afterwards. */
  async #replace(path: string, next: FileHandle, { start, end, oldestMs }: Rotation): Promise<void> {
    const old = await open(path);
    try {
      const position = { next: start, end };
      await next.writeFile(this.#kept(old, position, oldestMs));
      position.end = (await old.stat()).size;
      await next.writeFile(this.#kept(old, position, oldestMs));
      await rename(`${path}.new`, path);
      position.end = Infinity;
      await next.writeFile(this.#kept(old, position, oldestMs));
    } finally {
      await old.close();
    }
  }

  /** Lines of records that are not too old, about a chunk at a time. */
  async *#kept(file: FileHandle, position: LinePosition, oldestMs: number): AsyncGenerator<string> {
    let kept = '';
    for await (const { record, line } of this.#linesOf(file, position)) {
      if (record.startMs < oldestMs) continue;
      kept += `${line}\n`;
      if (kept.length < chunkBytes) continue;
      yield kept;
      kept = '';
    }
    if (kept !== '') yield kept;
  }

  async #firstStart(path: string): Promise<number | null> {
    for await (const { record } of this.#lines(path)) return record.startMs;
    return null;
  }

  async *#lines(path: string): AsyncGenerator<StoredLine> {
    const file = await open(path).catch(() => null);
    if (file === null) return;
    try {
      yield* this.#linesOf(file, { next: 0, end: Infinity });
    } finally {
      await file.close();
    }
  }

  /** Yields the records whose lines begin at the position or later, without lines that are damaged, such as the last one after a crash. */
  async *#linesOf(file: FileHandle, position: LinePosition): AsyncGenerator<StoredLine> {
    // With the byte before the position, to know whether a line begins there.
    let at = Math.max(0, position.next - 1);
    const splitter = new LineSplitter(position.next > 0);
    const chunk = Buffer.allocUnsafe(chunkBytes);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, Math.min(chunkBytes, position.end - at), at);
      const newest = chunk.subarray(0, bytesRead).lastIndexOf(newline);
      if (newest >= 0) position.next = at + newest + 1;
      at += bytesRead;
      const lines = bytesRead === 0 ? splitter.end() : splitter.add(chunk.subarray(0, bytesRead));
      for (const line of lines) {
        const record = recordIn(line);
        if (record !== null) yield { record, line, bytes: Buffer.byteLength(line) };
      }
      if (bytesRead === 0) return;
      await nextTurn(this.#clock);
    }
  }
}

interface Rotation {
  /** The bytes of the file from which records are kept. */
  readonly start: number;
  readonly end: number;
  readonly oldestMs: number;
}

interface LinePosition {
  /** Where the first line begins that is not read yet. */
  next: number;
  /** Where the read ends, if not at the end of the file. */
  end: number;
}

interface StoredLine {
  readonly record: TaskRecord;
  readonly line: string;
  readonly bytes: number;
}

/** The newest state of each of the newest runs, within the bounds of a read. */
class NewestRecords {
  readonly #byRun = new Map<string, { readonly record: TaskRecord; readonly bytes: number }>();
  #bytes = 0;

  get records(): TaskRecord[] {
    return [...this.#byRun.values()].map(({ record }) => record);
  }

  set(record: TaskRecord, bytes: number): void {
    this.#bytes += bytes - (this.#byRun.get(record.run)?.bytes ?? 0);
    this.#byRun.set(record.run, { record, bytes });
    while (this.#byRun.size > historyMax || this.#bytes > readBytesMax) this.#dropOldest();
  }

  #dropOldest(): void {
    const [run, { bytes }] = this.#byRun.entries().next().value as [string, { bytes: number }];
    this.#byRun.delete(run);
    this.#bytes -= bytes;
  }
}

/** Splits the bytes of a file into lines; those of more than `lineMax` bytes are left out. */
class LineSplitter {
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #skips: boolean;

  /** `skipsFirst`: what comes before the first newline is no whole line. */
  constructor(skipsFirst: boolean) {
    this.#skips = skipsFirst;
  }

  add(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.#append(chunk.subarray(start, end));
      lines.push(...this.end());
      start = end + 1;
    }
    // Copied: the chunk is used again.
    this.#append(Buffer.from(chunk.subarray(start)));
    return lines;
  }

  /** The line that has begun, if it is whole and not too long. */
  end(): string[] {
    const line = this.#skips ? [] : [Buffer.concat(this.#begun).toString()];
    this.#clear(false);
    return line;
  }

  #append(bytes: Buffer): void {
    if (this.#skips) return;
    this.#begun.push(bytes);
    this.#begunBytes += bytes.length;
    if (this.#begunBytes > lineMax) this.#clear(true);
  }

  #clear(skips: boolean): void {
    this.#begun = [];
    this.#begunBytes = 0;
    this.#skips = skips;
  }
}

const pathOf = ({ archive, repo }: HistoryPlace): string => join(archive, `${repo}${historySuffix}`);

/** Whether the file ends within a line, as after a crash. */
async function endsWithinLine(path: string): Promise<boolean> {
  const file = await open(path).catch(() => null);
  if (file === null) return false;
  try {
    const { size } = await file.stat();
    if (size === 0) return false;
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0] !== newline;
  } finally {
    await file.close();
  }
}

function recordIn(line: string): TaskRecord | null {
  try {
    const record = JSON.parse(line) as Partial<TaskRecord> | null;
    const isRecord =
      typeof record?.run === 'string' &&
      typeof record.name === 'string' &&
      Number.isFinite(record.startMs) &&
      Array.isArray(record.buckets) &&
      Array.isArray(record.notes);
    return isRecord ? (record as TaskRecord) : null;
  } catch {
    return null;
  }
}

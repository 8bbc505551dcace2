// The finished and running tasks of a repository: one line of JSON each, in a file beside it, so that every node that reaches the archive
// can show them. The newest are in memory too, for an archive that cannot be written.
import { appendFile, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, nextTurn } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { BackupSettings } from './backup-state.ts';
import type { TaskRecord } from './task-record.ts';

export const historySuffix = '.tasks.jsonl';

const keptInMemory = 20;
const repositoriesInMemory = 1_000;
const linesAtOnce = 1_000;
const newline = 0x0a;
const dayMs = 86_400_000;
const mib = 1 << 20;
/** The most characters of a record: longer lines are ignored. */
const lineMax = 256 << 10;

export interface HistoryPlace {
  readonly archive: string;
  readonly repo: string;
}

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

  /** The newest first. */
  async read(place: HistoryPlace): Promise<TaskRecord[]> {
    await this.#work;
    const byRun = new Map<string, TaskRecord>();
    const path = pathOf(place);
    for (const record of await this.#stored(path)) byRun.set(record.run, record);
    for (const record of this.#recent.get(path) ?? []) byRun.set(record.run, record);
    return [...byRun.values()].sort((a, b) => b.startMs - a.startMs);
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

  /** Removes records that are too old, and the older half of a file that is too large. */
  async #rotate(path: string): Promise<void> {
    const { history_rotation_period: days, history_rotation_size: size } = this.#settings();
    const found = await stat(path).catch(() => null);
    if (found === null) return;
    const oldestMs = this.#clock.wallMs() - days * dayMs;
    const isTooLarge = found.size > size * mib;
    const first = await this.#firstStart(path);
    if (!isTooLarge && (first === null || first >= oldestMs)) return;
    const records = (await this.#stored(path)).filter(({ startMs }) => startMs >= oldestMs);
    const kept = isTooLarge ? records.slice(Math.ceil(records.length / 2)) : records;
    await writeFile(`${path}.new`, kept.map((record) => `${JSON.stringify(record)}\n`).join(''), {
      mode: 0o600,
    });
    await rename(`${path}.new`, path);
  }

  async #firstStart(path: string): Promise<number | null> {
    for await (const record of this.#records(path)) return record.startMs;
    return null;
  }

  async #stored(path: string): Promise<TaskRecord[]> {
    const records: TaskRecord[] = [];
    for await (const record of this.#records(path)) records.push(record);
    return records;
  }

  /** Yields the records, without lines that are damaged, such as the last one after a crash. */
  async *#records(path: string): AsyncGenerator<TaskRecord> {
    const text = await readFile(path, 'utf8').catch(() => '');
    let lines = 0;
    for (let at = 0; at < text.length; ) {
      const end = text.indexOf('\n', at);
      const line = text.slice(at, end < 0 ? text.length : end);
      at += line.length + 1;
      const record = recordIn(line);
      if (record !== null) yield record;
      if (++lines % linesAtOnce === 0) await nextTurn(this.#clock);
    }
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
  if (line.length > lineMax) return null;
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

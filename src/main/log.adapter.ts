// The log, as JSON lines on standard error and in a file. The lines have the form of those of pino, but are not written by it: the package
// would take a tenth of the time that a node needs to start, and 6 MB.
import { writeSync } from 'node:fs';
import { type Log, type LogLevel, logLevels } from '#ports/log.ts';

/** Takes whole lines. Synchronous: a line written before a crash is not lost, and there are few. */
interface LineOutput {
  write(line: string): void;
}

type LineLevel = Exclude<LogLevel, 'silent'>;

/** The numbers of pino, which tools that read such logs know. */
const numbers: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50, silent: 100 };
const standardError = 2;
/** How long, and how often, a write waits for the reader of a full pipe. */
const pipeWait = { ms: 10, times: 10 };

/** `file` gets the lines that standard error gets, and all others from `info` up. */
export function jsonLog(level: LogLevel, file?: LineOutput): Log {
  const shown = logTo(toStandardError(), level, {});
  return file && level !== 'silent' ? both(shown, logTo(file, finerOf(level, 'info'), {})) : shown;
}

const finerOf = (...levels: [LogLevel, LogLevel]): LogLevel =>
  logLevels[Math.min(...levels.map((level) => logLevels.indexOf(level)))] as LogLevel;

function logTo(output: LineOutput, from: LogLevel, bound: Record<string, unknown>): Log {
  const logAt = (level: LineLevel) =>
    numbers[level] < numbers[from]
      ? () => {}
      : (event: string, fields?: Record<string, unknown>) =>
          write(output, lineOf(level, event, { ...bound, ...fields }));
  return {
    debug: logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
    child: (component, level = from) => logTo(output, level, { ...bound, component }),
  };
}

function lineOf(level: LineLevel, event: string, fields: Record<string, unknown>): string {
  const start = { level: numbers[level], time: new Date().toISOString() };
  try {
    return `${JSON.stringify({ ...start, ...fields, msg: event })}\n`;
  } catch (error) {
    return `${JSON.stringify({ ...start, msg: event, fields: `not written: ${String(error)}` })}\n`;
  }
}

/** A failure to write the log (full disk, closed pipe) is not passed on. */
function write(output: LineOutput, line: string): void {
  try {
    output.write(line);
  } catch {
    // The line is lost.
  }
}

/** Takes bytes from an index on, and returns how many it took. */
interface Pipe {
  write(bytes: Buffer, from: number): number;
  /** Waits a moment for the reader of the pipe. */
  wait(): void;
}

export class PipedLines implements LineOutput {
  readonly #pipe: Pipe;
  /** A wait for the reader was in vain: no other line waits until the pipe takes one, since each wait blocks the thread. */
  #isFull = false;
  /** The pipe took only a part of the last line. */
  #isCut = false;

  constructor(pipe: Pipe) {
    this.#pipe = pipe;
  }

  /** @throws the error of the system, also when the reader of a pipe reads nothing for some time */
  write(line: string): void {
    const bytes = Buffer.from(this.#isCut ? `\n${line}` : line);
    let written = 0;
    try {
      for (let waited = this.#isFull ? pipeWait.times : 0; written < bytes.length; ) {
        const taken = this.#writeToPipe(bytes, written);
        if (taken !== null) written += taken;
        else if (waited++ < pipeWait.times) this.#pipe.wait();
        else throw new PipeFullError();
      }
      this.#isFull = false;
      this.#isCut = false;
    } catch (error) {
      this.#isFull = error instanceof PipeFullError;
      this.#isCut ||= written > 0;
      throw error;
    }
  }

  /** Null: the pipe is full. */
  #writeToPipe(bytes: Buffer, from: number): number | null {
    try {
      return this.#pipe.write(bytes, from);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return null;
      throw error;
    }
  }
}

class PipeFullError extends Error {
  constructor() {
    super('the pipe has no room');
  }
}

const toStandardError = (): LineOutput =>
  new PipedLines({
    write: (bytes, from) => writeSync(standardError, bytes, from),
    wait: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pipeWait.ms),
  });

const both = (one: Log, other: Log): Log => ({
  debug: (...line) => [one, other].forEach((log) => void log.debug(...line)),
  info: (...line) => [one, other].forEach((log) => void log.info(...line)),
  warn: (...line) => [one, other].forEach((log) => void log.warn(...line)),
  error: (...line) => [one, other].forEach((log) => void log.error(...line)),
  child: (...about) => both(one.child(...about), other.child(...about)),
});

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
  const shown = logTo({ write: writeToStandardError }, level, {});
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

/** @throws the error of the system, also when the reader of a pipe reads nothing for some time */
function writeToStandardError(line: string): void {
  const bytes = Buffer.from(line);
  let written = 0;
  for (let waited = 0; written < bytes.length; ) {
    try {
      written += writeSync(standardError, bytes, written);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || ++waited > pipeWait.times) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pipeWait.ms);
    }
  }
}

const both = (one: Log, other: Log): Log => ({
  debug: (...line) => [one, other].forEach((log) => void log.debug(...line)),
  info: (...line) => [one, other].forEach((log) => void log.info(...line)),
  warn: (...line) => [one, other].forEach((log) => void log.warn(...line)),
  error: (...line) => [one, other].forEach((log) => void log.error(...line)),
  child: (...about) => both(one.child(...about), other.child(...about)),
});

// The log, as JSON lines on standard error and in a file, through pino.
import { type DestinationStream, destination, type Logger, pino } from 'pino';
import { type Log, type LogLevel, logLevels } from '#ports/log.ts';

/** `file` gets the lines that standard error gets, and all others from `info` up. */
export function pinoLog(level: LogLevel, file?: DestinationStream): Log {
  // Synchronous: a line written before a crash is not lost, and there are few.
  const shown = logTo(level, destination({ fd: 2, sync: true }));
  return file && level !== 'silent' ? both(shown, logTo(finerOf(level, 'info'), file)) : shown;
}

const logTo = (level: LogLevel, stream: DestinationStream): Log =>
  adapt(pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream));

const finerOf = (...levels: [LogLevel, LogLevel]): LogLevel =>
  logLevels[Math.min(...levels.map((level) => logLevels.indexOf(level)))] as LogLevel;

/** A failure to write the log (full disk, closed pipe) is not passed on. */
function written(write: () => void): void {
  try {
    write();
  } catch {
    // The line is lost.
  }
}

function adapt(logger: Logger): Log {
  return {
    debug: (event, fields) => written(() => logger.debug(fields ?? {}, event)),
    info: (event, fields) => written(() => logger.info(fields ?? {}, event)),
    warn: (event, fields) => written(() => logger.warn(fields ?? {}, event)),
    error: (event, fields) => written(() => logger.error(fields ?? {}, event)),
    child: (component, level) => adapt(logger.child({ component }, level === undefined ? {} : { level })),
  };
}

const both = (one: Log, other: Log): Log => ({
  debug: (...line) => [one, other].forEach((log) => void log.debug(...line)),
  info: (...line) => [one, other].forEach((log) => void log.info(...line)),
  warn: (...line) => [one, other].forEach((log) => void log.warn(...line)),
  error: (...line) => [one, other].forEach((log) => void log.error(...line)),
  child: (...about) => both(one.child(...about), other.child(...about)),
});

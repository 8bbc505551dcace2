// The log, as JSON lines on standard error through pino.
import { destination, type Logger, pino } from 'pino';
import type { Log, LogLevel } from '#ports/log.ts';

export function pinoLog(level: LogLevel): Log {
  // Synchronous: a line written before a crash is not lost, and there are few.
  return adapt(
    pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination({ fd: 2, sync: true })),
  );
}

/** A log on a full disk, or a pipe that nobody reads, fails nothing but itself. */
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

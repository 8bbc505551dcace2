// Structured log: an event name and fields, which contain neither secrets nor user data.

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';
export const logLevels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
  /** A child log. With a level, it logs lines from that level up, independent of the parent. */
  child(component: string, level?: LogLevel): Log;
}

export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
};

/** A line that a worker thread sends to the main thread, which logs it. */
export interface LogMessage {
  readonly kind: 'log';
  readonly level: Exclude<LogLevel, 'silent'>;
  readonly event: string;
  readonly fields: Record<string, unknown>;
}

/** The log of a worker thread: `send` posts each line to the main thread. */
export function forwardingLog(component: string, send: (message: LogMessage) => void): Log {
  const logAt = (level: LogMessage['level']) => (event: string, fields?: Record<string, unknown>) =>
    send({ kind: 'log', level, event, fields: { component, ...fields } });
  return {
    debug: logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
    // Without the level of its own that `child` allows: the main thread decides which lines it logs.
    child: (name) => forwardingLog(name, send),
  };
}

// Structured log: an event name and fields, without secrets and user data.

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

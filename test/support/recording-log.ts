// A log that keeps what copies of shards report.
import { type Log, silentLog } from '#ports/log.ts';

export class RecordingLog implements Log {
  readonly debug = silentLog.debug;
  readonly rolledBack: Record<string, unknown>[] = [];
  readonly emptied: Record<string, unknown>[] = [];
  readonly warnings: [event: string, fields?: Record<string, unknown>][] = [];
  readonly errors: [event: string, fields?: Record<string, unknown>][] = [];

  info(event: string, fields: Record<string, unknown> = {}): void {
    if (event === 'replication.copy_rolled_back') this.rolledBack.push(fields);
    if (event === 'replication.copy_emptied') this.emptied.push(fields);
  }

  warn(event: string, fields?: Record<string, unknown>): void {
    this.warnings.push(fields === undefined ? [event] : [event, fields]);
  }

  error(event: string, fields?: Record<string, unknown>): void {
    this.errors.push(fields === undefined ? [event] : [event, fields]);
  }

  child(): Log {
    return this;
  }
}

// The log of one replication, with lines of the level of its setting and above.
import type { Log } from '#ports/log.ts';
import { type ReplicationLogLevel, replicationLogLevels } from '../xdcr.contract.ts';

const nothing = () => {};

/** `Fatal` is like `Error`, and `Trace` like `Debug`: no line has the level `Fatal` or `Trace`. */
export function leveledLog(log: Log, level: ReplicationLogLevel): Log {
  const has = (needed: ReplicationLogLevel): boolean =>
    replicationLogLevels.indexOf(level) >= replicationLogLevels.indexOf(needed);
  return {
    error: (event, fields) => log.error(event, fields),
    warn: has('Warn') ? (event, fields) => log.warn(event, fields) : nothing,
    info: has('Info') ? (event, fields) => log.info(event, fields) : nothing,
    debug: has('Debug') ? (event, fields) => log.debug(event, fields) : nothing,
    child: (component, own) => leveledLog(log.child(component, own), level),
  };
}

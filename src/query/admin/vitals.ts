// The summary of the process and the service for GET /admin/vitals.
import { durationText } from '../request/duration.ts';
import type { QueryParts } from '../state/parts.ts';

export function vitals(service: QueryParts): Record<string, unknown> {
  const { deps, counters, startedMs, active } = service;
  const nowMs = deps.clock.wallMs();
  const { usedBytes, heapBytes, residentBytes, processors, userPercent, systemPercent } =
    deps.processFigures();
  const { times, rates, values } = counters;
  const monotonicMs = deps.clock.monotonicMs();
  return {
    uptime: durationText(nowMs - startedMs),
    'local.time': new Date(nowMs).toISOString(),
    version: deps.node().version,
    'total.threads': 1,
    cores: processors,
    'ffdc.count': 0,
    'gc.num': 0,
    'gc.pause.time': '0s',
    'gc.pause.percent': 0,
    'memory.usage': usedBytes,
    'memory.total': heapBytes,
    'memory.system': residentBytes,
    'cpu.user.percent': userPercent,
    'cpu.sys.percent': systemPercent,
    'request.completed.count': values.requests,
    'request.active.count': active.count,
    'request.per.sec.1min': rates.perSecond(1, monotonicMs),
    'request.per.sec.5min': rates.perSecond(5, monotonicMs),
    'request.per.sec.15min': rates.perSecond(15, monotonicMs),
    'request_time.mean': durationText(times.meanMs),
    'request_time.median': durationText(times.quantileMs(0.5)),
    'request_time.80percentile': durationText(times.quantileMs(0.8)),
    'request_time.95percentile': durationText(times.quantileMs(0.95)),
    'request_time.99percentile': durationText(times.quantileMs(0.99)),
    'request.prepared.percent': values.requests === 0 ? 0 : (values.prepared * 100) / values.requests,
  };
}

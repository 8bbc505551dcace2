// The statistics of GET /admin/stats. Times are in nanoseconds.
import type { QueryParts } from '../state/parts.ts';

export function statistics(service: QueryParts): Record<string, number> {
  const { counters, active, admission, prepared } = service;
  const times = counters.times;
  return {
    ...Object.fromEntries(Object.entries(counters.values).map(([name, value]) => [`${name}.count`, value])),
    'active_requests.count': active.count,
    'queued_requests.count': admission.queued,
    'prepareds.count': prepared.all().length,
    'request_timer.count': times.count,
    'request_timer.mean': times.meanMs * 1e6,
    'request_timer.median': times.quantileMs(0.5) * 1e6,
    'request_timer.80%': times.quantileMs(0.8) * 1e6,
    'request_timer.95%': times.quantileMs(0.95) * 1e6,
    'request_timer.99%': times.quantileMs(0.99) * 1e6,
  };
}

/** One statistic by its name, or undefined. */
export function statistic(service: QueryParts, name: string): Record<string, number> | undefined {
  const all = new Map(Object.entries(statistics(service)));
  const value = all.get(name) ?? all.get(`${name}.count`);
  return value === undefined ? undefined : { count: value };
}

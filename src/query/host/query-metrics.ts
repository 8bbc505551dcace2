// Converts the counters of the query service to metrics. They are zero until the first request has loaded the service.
import { type MetricName, metrics, sampleOf } from '#metrics/catalog.ts';
import type { MetricSample } from '#metrics/sample.ts';
import type { QueryReport } from './query-messages.ts';

const prefix = 'n1ql_';
const names = Object.keys(metrics).filter((name): name is MetricName => name.startsWith(prefix));

export function* queryMetrics({ counters, active, queued }: QueryReport): Iterable<MetricSample> {
  const figures: Readonly<Record<string, number>> = {
    ...counters,
    active_requests: active,
    queued_requests: queued,
  };
  for (const name of names) yield sampleOf(name, {}, figures[name.slice(prefix.length)] ?? 0);
}

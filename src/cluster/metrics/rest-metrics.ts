// Converts the REST API's counters to metrics.
import type { RequestMeter } from '#http/request-meter.ts';
import { histogramOf, sampleOf } from '#metrics/catalogue.ts';
import type { MetricSample } from '#metrics/sample.ts';

export function* restMetrics(meter: RequestMeter): Generator<MetricSample> {
  const { entered, left, unauthenticated, forbidden } = meter.totals;
  yield sampleOf('cm_rest_request_enters_total', {}, entered);
  yield sampleOf('cm_rest_request_leaves_total', {}, left);
  yield sampleOf('cm_rest_request_auth_failure_total', {}, unauthenticated);
  yield sampleOf('cm_rest_request_access_forbidden_total', {}, forbidden);
  for (const { count, ...labels } of meter.counts()) yield sampleOf('cm_http_requests_total', labels, count);
  for (const { method, ...times } of meter.times())
    yield histogramOf('cm_http_requests_seconds', { method }, times);
}

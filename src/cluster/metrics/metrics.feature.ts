// Registers the cluster manager's metrics and creates the routes that show them.
import type { BoundRoute } from '#contract/route.ts';
import { RequestMeter } from '#http/request-meter.ts';
import type { IndexServiceAdmin } from '#index/index.contract.ts';
import { histogramOf, sampleOf } from '#metrics/catalog.ts';
import type { MetricsRegistry } from '#metrics/registry.ts';
import type { MetricSample } from '#metrics/sample.ts';
import type { XdcrAdmin } from '#xdcr/xdcr.contract.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { indexMetrics } from '../indexes/index-metrics.ts';
import type { IndexesService } from '../indexes/indexes.service.ts';
import type { System } from '../nodes/system.ts';
import { replicationMetrics } from '../xdcr/replication-figures.ts';
import { machineMetrics, type ProcessFigures, processMetrics } from './machine-metrics.ts';
import { metricsRoutes } from './metrics.routes.ts';

export interface ManagerMetricsOptions {
  registry: MetricsRegistry;
  view: ClusterView;
  data: { metrics(): Promise<MetricSample[]> };
  system: System;
  process: () => ProcessFigures;
  indexes: Pick<IndexesService, 'all'>;
  indexAdmin: Pick<IndexServiceAdmin, 'reports' | 'refresh'>;
  xdcr: Pick<XdcrAdmin, 'reports'>;
}

export interface ManagerMetrics {
  /** Counts the requests of the REST ports. */
  readonly meter: RequestMeter;
  readonly routes: readonly BoundRoute[];
}

export function createManagerMetrics({
  registry,
  view,
  data,
  system,
  process,
  indexes,
  indexAdmin,
  xdcr,
}: ManagerMetricsOptions): ManagerMetrics {
  const meter = new RequestMeter();
  registry.add('data', { collect: () => data.metrics() });
  registry.add('machine', { collect: async () => machineMetrics(await system.figures()) });
  registry.add('process', { collect: () => processMetrics(process()) });
  registry.add('rest', { collect: () => restMetrics(meter) });
  registry.add('indexes', { collect: () => indexMetrics({ indexes, indexAdmin, view }) });
  registry.add('xdcr', { collect: () => replicationMetrics(xdcr.reports()) });
  return { meter, routes: metricsRoutes({ registry, view }) };
}

/** The REST API's counters as metrics. */
function* restMetrics(meter: RequestMeter): Generator<MetricSample> {
  const { entered, left, unauthenticated, forbidden } = meter.totals;
  yield sampleOf('cm_rest_request_enters_total', {}, entered);
  yield sampleOf('cm_rest_request_leaves_total', {}, left);
  yield sampleOf('cm_rest_request_auth_failure_total', {}, unauthenticated);
  yield sampleOf('cm_rest_request_access_forbidden_total', {}, forbidden);
  for (const { count, ...labels } of meter.counts()) yield sampleOf('cm_http_requests_total', labels, count);
  for (const { method, ...times } of meter.times())
    yield histogramOf('cm_http_requests_seconds', { method }, times);
}

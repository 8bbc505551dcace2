// Registers the cluster manager's metrics and creates the routes that show them.
import type { BoundRoute } from '#contract/route.ts';
import { RequestMeter } from '#http/request-meter.ts';
import type { IndexDoor } from '#index/index.contract.ts';
import type { MetricsRegistry } from '#metrics/registry.ts';
import type { MetricSample } from '#metrics/sample.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { indexMetrics } from '../indexes/index-metrics.ts';
import type { IndexesService } from '../indexes/indexes.service.ts';
import type { System } from '../nodes/system.ts';
import { machineMetrics, type ProcessFigures, processMetrics } from './machine-metrics.ts';
import { metricsRoutes } from './metrics.routes.ts';
import { restMetrics } from './rest-metrics.ts';

export interface ManagerMetricsOptions {
  registry: MetricsRegistry;
  view: ClusterView;
  data: { metrics(): Promise<MetricSample[]> };
  system: System;
  process: () => ProcessFigures;
  indexes: Pick<IndexesService, 'all'>;
  indexDoor: Pick<IndexDoor, 'reports' | 'refresh'>;
}

export interface ManagerMetrics {
  /** Counts the requests of the REST ports. */
  readonly meter: RequestMeter;
  readonly routes: readonly BoundRoute[];
}

export function managerMetrics({
  registry,
  view,
  data,
  system,
  process,
  indexes,
  indexDoor,
}: ManagerMetricsOptions): ManagerMetrics {
  const meter = new RequestMeter();
  registry.add('data', { collect: () => data.metrics() });
  registry.add('machine', { collect: async () => machineMetrics(await system.figures()) });
  registry.add('process', { collect: () => processMetrics(process()) });
  registry.add('rest', { collect: () => restMetrics(meter) });
  registry.add('indexes', { collect: () => indexMetrics({ indexes, door: indexDoor, view }) });
  return { meter, routes: metricsRoutes({ registry, view }) };
}

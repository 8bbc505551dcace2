// Composes the metrics of a node: the registry of sources, the sampler and the store.
//
//   const metrics = createMetrics({ files, clock, log });
//   metrics.registry.add('data', { collect: () => [...] });   // any source, at any time
//   metrics.start();                                          // once the node is ready
//   await metrics.stop();
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { MetricsRegistry } from './registry.ts';
import { Sampler } from './sampler.ts';
import { type StoreOptions, TimeSeriesStore } from './store/store.ts';

export interface Metrics {
  readonly registry: MetricsRegistry;
  readonly store: TimeSeriesStore;
  /** Starts sampling. The store reads its files in the background. */
  start(): void;
  /** Reports that a client reads the last minute, so that every second is sampled. */
  watched(): void;
  stop(): Promise<void>;
}

export function createMetrics({
  files,
  clock,
  log,
}: {
  files: StoreOptions['files'];
  clock: Clock;
  log: Log;
}): Metrics {
  const registry = new MetricsRegistry({ log });
  const store = new TimeSeriesStore({ files, clock, log });
  const sampler = new Sampler({ registry, sink: store, clock, log });
  let opened: Promise<void> | null = null;
  return {
    registry,
    store,
    start() {
      opened = store
        .open()
        .catch((error: unknown) => log.error('metrics.open_failed', { reason: String(error) }));
      sampler.start();
    },
    watched: () => sampler.watched(),
    async stop() {
      sampler.stop();
      await opened;
      await store.close();
    },
  };
}

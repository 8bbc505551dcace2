// Metrics in memory only.
import { createMetrics } from '../../src/metrics/metrics.feature.ts';
import type { StoreFiles } from '../../src/metrics/store/files.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { silentLog } from '../../src/ports/log.ts';

const refuse = async (): Promise<never> => {
  throw new Error('metrics in memory have no files to read');
};
const nowhere: StoreFiles = {
  list: async () => [],
  write: async () => {},
  open: refuse,
  readAll: refuse,
  openLog: async () => ({ append: async () => {}, close: async () => {} }),
  remove: async () => {},
};

export const metricsInMemory = (clock: Clock) =>
  createMetrics({ files: { fine: nowhere, coarse: nowhere }, clock, log: silentLog });

// The time series of this node, in its data folder.

import { join } from 'node:path';
import { createMetrics, type Metrics } from '#metrics/metrics.feature.ts';
import { FolderStoreFiles } from '#metrics/store/files.adapter.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';

export const metricsIn = (folder: string, log: Log): Metrics =>
  createMetrics({
    files: {
      fine: new FolderStoreFiles(join(folder, 'ten-seconds')),
      coarse: new FolderStoreFiles(join(folder, 'five-minutes')),
    },
    clock: realClock,
    log,
  });

// The metrics of a busy node, collected more often than a node does: two hours of samples in
// less than a minute.
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { FlatSample } from '#metrics/sample.ts';
import { kvMetrics } from '../../src/cluster/agent/kv-metrics.ts';
import { initialManifest } from '../../src/cluster/config/cluster-state.ts';
import { machineMetrics, processMetrics } from '../../src/cluster/metrics/machine-metrics.ts';
import { Machine } from '../../src/cluster/nodes/adapters/machine.adapter.ts';
import { WorkerKvAdmin } from '../../src/kv/host/worker-kv-admin.ts';
import { flatten } from '../../src/metrics/registry.ts';
import { silentLog } from '../../src/ports/log.ts';
import { aBucket, aDesired } from '../../test/support/data-service.ts';

const generator = fileURLToPath(new URL('./kv-load.ts', import.meta.url));
const pauseMs = 40;

/** Yields the samples of each step. */
export async function* busyNodeSamples(folder: string, steps: number): AsyncGenerator<FlatSample[]> {
  const admin = new WorkerKvAdmin({ log: silentLog, onLost: () => {} });
  const ports = { port: 0, tlsPort: 0 };
  const { port } = await admin.start({
    dataDir: folder,
    host: '127.0.0.1',
    version: 'bench',
    logLevel: 'silent',
    ...ports,
  });
  await admin.apply(aDesired({ buckets: [aBucket('b', { type: 'native' })] }));
  const machine = new Machine(folder, () => performance.now());
  const about = { quotaBytes: 2 ** 28, evictsNothing: false, vbuckets: 1024, manifest: initialManifest() };
  const stopped = new AbortController();
  const load = { connections: 16, pipeline: 1, port, seconds: 600, protocol: 'divan' };
  const loading = promisify(execFile)(process.execPath, [generator, JSON.stringify(load)], {
    signal: stopped.signal,
  }).catch(() => {});
  for (let step = 0; step < steps; step++) {
    const { userCPUTime, systemCPUTime, minorPageFault, majorPageFault } = process.resourceUsage();
    yield [
      ...flatten([
        ...kvMetrics(await admin.report(), () => about),
        ...machineMetrics(await machine.figures()),
        ...processMetrics({
          userSeconds: userCPUTime / 1e6,
          systemSeconds: systemCPUTime / 1e6,
          minorFaults: minorPageFault,
          majorFaults: majorPageFault,
          residentBytes: process.memoryUsage.rss(),
          startedSeconds: 1_700_000_000,
        }),
      ]),
    ];
    await sleep(pauseMs);
  }
  stopped.abort();
  await loading;
  await admin.stop();
}

// A data service on real files in a thread of its own, with quotas smaller than the REST API allows: `MeasuredService.start`.
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { EvictionPolicy } from '#kv/admin.ts';
import { workerDiskEngine } from '#kv/disk/hosts/worker-engine.ts';
import { aBucket, aDesired, startService } from './data-service.ts';

export interface MeasuredBucket {
  readonly dataDir: string;
  readonly quotaBytes: number;
  readonly evictionPolicy: EvictionPolicy;
}

export class MeasuredService implements AsyncDisposable {
  readonly port: number;
  private readonly worker: Worker;

  private constructor(worker: Worker, port: number) {
    this.worker = worker;
    this.port = port;
  }

  /** With `environment`, the variables of `Turns` (turns.ts), the thread reports its longest turns of the event loop. */
  static async start(bucket: MeasuredBucket, environment: Record<string, string>): Promise<MeasuredService> {
    const worker = new Worker(new URL(import.meta.url), {
      name: 'data service',
      workerData: bucket,
      env: { ...process.env, ...environment },
    });
    const [port] = (await once(worker, 'message')) as [number];
    return new MeasuredService(worker, port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.worker, 'exit');
    this.worker.postMessage('stop');
    await ended;
  }
}

async function serve(bucket: MeasuredBucket): Promise<void> {
  const { dataDir, quotaBytes, evictionPolicy } = bucket;
  const desired = aDesired({ buckets: [aBucket('b', { quotaBytes, evictionPolicy })] });
  const service = await startService(desired, { dataDir, disk: workerDiskEngine() });
  parentPort?.postMessage(service.port);
  parentPort?.once('message', async () => {
    await service[Symbol.asyncDispose]();
    process.exit();
  });
}

if (!isMainThread && parentPort !== null) await serve(workerData as MeasuredBucket);

// A data service in a thread of its own, as in a node, that tells how late its timers came.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parentPort } from 'node:worker_threads';
import { HeavyThread } from '../../src/kv/heavy/hosts/heavy-thread.ts';
import { realClock } from '../../src/ports/clock.ts';
import { aBucket, aDesired, startService } from '../../test/support/data-service.ts';

export interface TurnsReport {
  longestMs: number;
}

const buckets = [aBucket('b', { type: 'ephemeral', quotaBytes: 1024 * 1024 * 1024 })];
const service = await startService(aDesired({ buckets }), { heavy: new HeavyThread(realClock) });
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
parentPort?.on('message', (order: 'report' | 'stop') => {
  if (order === 'stop') {
    delay.disable();
    void service[Symbol.asyncDispose]().then(() => process.exit());
    return;
  }
  const report: TurnsReport = { longestMs: delay.max / 1e6 };
  delay.reset();
  parentPort?.postMessage(report);
});
parentPort?.postMessage(service.port);
